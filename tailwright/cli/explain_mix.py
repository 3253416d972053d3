"""`tailwright explain-mix`: what TailMix does to some rows under a trained model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import tailwright as tw
from tailwright.cli.hints import predicted
from tailwright.cli.options import CorpusPath, Seed, command
from tailwright.cli.output import Output
from tailwright.cli.reading import Reading
from tailwright.study.page import short


@command
def explain_mix(
    out: Output,
    read: Reading,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run of attentionxml or la-roberta.")],
    path: CorpusPath,
    rows: Annotated[int, typer.Option(help="Training rows to show.", min=1)] = 5,
    nearest: Annotated[int, typer.Option(help="Neighbours of a label to show.", min=1)] = 5,
    seed: Seed = 0,
) -> None:
    """Which labels TailMix mixes in some rows of the corpus, with which partners, and what they then learn.

    For each row the rarest label that is mixed, its neighbours in the label proximity graph with the
    distances of their context vectors, the partner, and the new targets of both. Settings are those that the
    run was trained with.

    Example: `tailwright explain-mix runs/tailmix data/ --rows 3`
    """
    from tailwright.runs.explain_mix import explain_mix as explained

    corpus = read(path)
    mixed = explained(tw.load(run), corpus, rows=rows, nearest=nearest, seed=seed)
    for one in mixed:
        out.text(f"row {one.row + 1}: {short(one.text, 90)}")
        out.text(f"  target: {short(one.target, 60)} ({one.training_rows:,} training rows)")
        for name, distance in one.neighbours:
            out.text(f"  {distance:8.3f}  {short(name, 60)}{'  <- partner' * (name == one.partner)}")
        learnt = f"{one.target_value:.2f} of the target, {one.partner_value:.2f} of the partner"
        out.text(f"  now learnt: {learnt}{', which the row has too' * one.partner_is_gold}\n")
    if not mixed:
        out.text("no label of these rows has a neighbour to be mixed with")
    out.next(*predicted(run, corpus.train.texts))
    out.result(rows=[asdict(one) for one in mixed])
