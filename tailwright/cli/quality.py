"""`tailwright quality`: how good are the rows that augmentations have added to a corpus?"""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import tailwright as tw
from tailwright.cli.options import Seed, command
from tailwright.cli.output import Output
from tailwright.study.page import short

if TYPE_CHECKING:
    from tailwright.study.quality.examples import Guess
    from tailwright.study.quality.figures import MethodQuality


@command
def quality(
    out: Output,
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A corpus that `tailwright augment` has written.")
    ],
    method: Annotated[
        str | None,
        typer.Option("--method", help="Only the rows of this augmentation.", show_default="all there are"),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--run", metavar="RUN", help="A run folder: does its model still find the labels?"),
    ] = None,
    target: Annotated[Path, typer.Option("--out", metavar="FILE", help="The HTML file to write.")] = Path(
        "quality.html"
    ),
    count: Annotated[int, typer.Option("--examples", min=0, help="Pairs to show of each method.")] = 9,
    seed: Seed = 0,
) -> None:
    """Variety, repetition, length and nearness to their sources of new rows, and pairs to read.

    With `--run`, whether a trained model still finds the labels of the source in the new row. The corpus must
    say where its rows came from: jsonl, csv, tsv and parquet do, other formats do not.

    Example: `tailwright quality data2/ --method eda --run runs/plain`
    """
    from tailwright.study.page.html import refuse_unwritable, write_page
    from tailwright.study.quality.figures import quality_of
    from tailwright.study.quality.page import quality_page

    refuse_unwritable(target)
    run = None if folder is None else tw.load(folder)
    measured = quality_of(tw.read(path, seed=seed), run, method, seed, count=count)
    for number, of_method in enumerate(measured.methods):
        if number:
            out.text()
        _show(out, of_method)
    optional = [*(["--method", method] if method else []), *(["--run", str(folder)] if folder else [])]
    words = [str(path), *optional, "--out", str(target), "--examples", str(count), "--seed", str(seed)]
    command = shlex.join(["tailwright", "quality", *words])
    write_page(target, quality_page(measured, path.name or str(path), command))
    out.text()
    out.text(f"wrote {target}")
    out.result(
        path=str(path),
        run=None if folder is None else str(folder),
        report=str(target),
        **asdict(measured),
    )


def _show(out: Output, quality: MethodQuality) -> None:
    from tailwright.study.quality import tables

    out.text(f"{tables.headline(quality)}\n")
    out.table(["texts of both sides", "sources", "new rows"], tables.text_rows(quality))
    out.text()
    out.table(["new rows against what is there", "new rows"], tables.pair_rows(quality))
    if quality.drift is not None:
        out.text("\n".join(["", *tables.drift_words(quality.drift)]))
        out.table(tables.drift_header(quality.drift), tables.drift_rows(quality.drift))
    for example in quality.examples:
        near = "" if example.similarity is None else f", similarity {example.similarity:.2f}"
        out.text(f"\n{example.kind}{near}")
        _line(out, "labels", "; ".join(f"{label.name} ({label.rows:,})" for label in example.labels))
        if example.source is not None:
            _line(out, "source", example.source, example.source_guesses)
        _line(out, "new row", example.new, example.new_guesses)


def _line(out: Output, name: str, text: str, guesses: tuple[Guess, ...] = ()) -> None:
    out.text(f"  {name:7}  {short(' '.join(text.split()), 100)}")
    if guesses:
        labels = "; ".join(f"{guess.name}{' (right)' if guess.right else ''}" for guess in guesses)
        out.text(f"  {'':7}  -> {short(labels, 100)}")
