"""`tailwright quality`: how good are the rows that augmentations have added to a corpus?"""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import tailwright as tw
from tailwright.cli.config import Asked
from tailwright.cli.hints import trained_on
from tailwright.cli.options import ScorerRun, Seed, command
from tailwright.cli.output import Output
from tailwright.cli.reading import Reading
from tailwright.errors import InputError
from tailwright.settings import settings_from
from tailwright.study.page import short

if TYPE_CHECKING:
    from tailwright.augmentation.filter import FilterSettings
    from tailwright.study.quality.examples import Example, Guess
    from tailwright.study.quality.figures import MethodQuality
    from tailwright.study.quality.filtering import Filtering


@command
def quality(
    out: Output,
    read: Reading,
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A corpus that `tailwright augment` has written.")
    ],
    method: Annotated[
        str | None,
        typer.Option(
            "--augment",
            "--method",
            help="Only the rows of this augmentation. `--method` is the same option.",
            show_default="all there are",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--run", metavar="RUN", help="A run folder: does its model still find the labels?"),
    ] = None,
    filtered: Annotated[
        bool, typer.Option("--filter", help="Which new rows would `tailwright filter` keep and drop?")
    ] = False,
    scorer: ScorerRun = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="filter.NAME=VALUE",
            help="A setting of the filter; see `tailwright augmenters filter`.",
        ),
    ] = None,
    target: Annotated[Path, typer.Option("--out", metavar="FILE", help="The HTML file to write.")] = Path(
        "quality.html"
    ),
    count: Annotated[
        int, typer.Option("--examples", min=0, help="Pairs to show of each method, and of the filter.")
    ] = 9,
    seed: Seed = 0,
) -> None:
    """Variety, repetition, length and nearness to their sources of new rows, and pairs to read.

    With `--run`, whether a trained model still finds the labels of the source in the new row. The corpus must
    say where its rows came from: jsonl, csv, tsv and parquet do, other formats do not.

    With `--filter`, the diversity, consistency and score that `tailwright filter` goes by, and rows that it
    would keep and drop; nothing is dropped here.

    Example: `tailwright quality data2/ --augment eda --run runs/plain --filter --set filter.keep=0.5`
    """
    from tailwright.study.page.html import refuse_unwritable, write_page
    from tailwright.study.quality.figures import quality_of
    from tailwright.study.quality.page import quality_page

    filter_settings = _filter_settings(filtered, scorer, assignments or [])
    refuse_unwritable(target)
    run = None if folder is None else tw.load(folder)
    measured = quality_of(
        read.all_rows(path, seed), run, method, seed, count=count, filter_settings=filter_settings
    )
    for number, of_method in enumerate(measured.methods):
        if number:
            out.text()
        _show(out, of_method)
    if measured.filtering is not None:
        _show_filtering(out, measured.filtering)
    optional = [*(["--augment", method] if method else []), *(["--run", str(folder)] if folder else [])]
    optional += [*(["--filter"] if filtered else []), *(["--with", str(scorer)] if scorer else [])]
    optional += [word for assignment in assignments or [] for word in ("--set", assignment)]
    given = [str(path), *optional, "--out", str(target), "--examples", str(count), "--seed", str(seed)]
    command = shlex.join(["tailwright", "quality", *given])
    write_page(target, quality_page(measured, path.name or str(path), command))
    out.text()
    out.text(f"wrote {target}")
    out.next(*trained_on(read.again(path, seed), "--augment", "none"))
    out.result(
        path=str(path),
        run=None if folder is None else str(folder),
        report=str(target),
        **asdict(measured),
    )


def _filter_settings(filtered: bool, scorer: Path | None, assignments: list[str]) -> FilterSettings | None:
    """The settings of the filter that is asked for, None if none is."""
    from tailwright.augmentation.filter import FilterSettings

    if not filtered:
        if scorer is not None or assignments:
            option = "--set" if scorer is None else "--with"
            raise InputError(f"found {option} without --filter", expected="--filter, which it is about")
        return None
    asked = Asked()
    for assignment in assignments:
        asked.set(assignment)
    values = asked.augment_settings.pop("filter", {})
    others = [*asked.settings, *asked.augment_settings]
    if others:
        raise InputError(f"--set {others[0]}", expected="filter.NAME=VALUE")
    return settings_from(FilterSettings, values if scorer is None else {**values, "run": str(scorer)})


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
        _show_example(out, example, tables.example_words(example))


def _show_filtering(out: Output, found: Filtering) -> None:
    from tailwright.study.quality import tables

    out.text("\n".join(["", *tables.filter_words(found), ""]))
    out.table(["filter", "value"], tables.filter_rows(found))
    for name, counts in found.histograms.items():
        out.text()
        out.table(tables.histogram_header(name), tables.histogram_rows(counts))
    for scored in found.examples:
        _show_example(out, scored.example, tables.scored_words(scored))


def _show_example(out: Output, example: Example, kind: str) -> None:
    out.text(f"\n{kind}")
    _line(out, "labels", "; ".join(f"{label.name} ({label.rows:,})" for label in example.labels))
    if example.source is not None:
        _line(out, "source", example.source, example.source_guesses)
    _line(out, "new row", example.new, example.new_guesses)


def _line(out: Output, name: str, text: str, guesses: tuple[Guess, ...] = ()) -> None:
    out.text(f"  {name:7}  {short(' '.join(text.split()), 100)}")
    if guesses:
        labels = "; ".join(f"{guess.name}{' (right)' if guess.right else ''}" for guess in guesses)
        out.text(f"  {'':7}  -> {short(labels, 100)}")
