"""`tailwright evaluate`: the metrics of a run, or of several together, on a corpus's test rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailwright.cli.metrics import show_metrics
from tailwright.cli.options import Seed, command
from tailwright.cli.output import Output
from tailwright.cli.several_runs import loaded, named


@command
def evaluate(
    out: Output,
    arguments: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN... PATH", help="A run folder, or several; the last is a corpus over the same labels."
        ),
    ],
    split: Annotated[str, typer.Option("--split", help="test, valid or train.")] = "test",
    propensity: Annotated[
        str,
        typer.Option("--propensity", help="default (0.55, 1.5), amazon (0.6, 2.6) or wikipedia (0.5, 0.4)."),
    ] = "default",
    seed: Seed = 0,
) -> None:
    """P, nDCG, PSP, PSnDCG, recall and more of a run, overall and by head, torso, tail and unseen labels.

    Several runs over the same labels answer together: their scores are added.

    Example: `tailwright evaluate run/ data/`

    Example: `tailwright evaluate run1/ run2/ run3/ data/`
    """
    import tailwright as tw
    from tailwright.errors import InputError
    from tailwright.labels import PROPENSITY_PRESETS
    from tailwright.registry import unknown
    from tailwright.runs.evaluation import refuse_other_labels

    if propensity not in PROPENSITY_PRESETS:
        raise InputError(unknown("propensity", propensity, list(PROPENSITY_PRESETS)))
    *folders, path = arguments
    if not folders:
        raise InputError(f"found {path} alone", expected="a run folder and a corpus: RUN... PATH")
    run = loaded(folders)
    corpus = tw.read(path, seed=seed)
    refuse_other_labels(corpus, run, folders[0])
    splits = corpus.splits()
    if split not in splits:
        raise InputError(f"found no {split} rows", expected=f"one of {', '.join(splits)}", path=path)
    metrics = tw.evaluate(run, splits[split], propensity=PROPENSITY_PRESETS[propensity])
    show_metrics(out, metrics, f"{run.name} on {len(splits[split]):,} {split} rows, in percent:")
    out.result({**named(folders), "path": str(path), "split": split, "metrics": metrics})
