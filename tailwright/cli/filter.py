"""`tailwright filter`: of the rows that augmentations added to a corpus, keep those worth keeping."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tailwright.cli.augment import write_rows
from tailwright.cli.config import Asked
from tailwright.cli.hints import trained_on
from tailwright.cli.on_cluster import check_on, working_on
from tailwright.cli.options import On, OnWorkers, ScorerRun, Seed, command
from tailwright.cli.output import Output
from tailwright.cli.reading import Reading
from tailwright.settings import settings_from

if TYPE_CHECKING:
    from tailwright.augmentation.filter import RowScores


@command
def filter_rows(
    out: Output,
    read: Reading,
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A corpus that `tailwright augment` has written.")
    ],
    target: Annotated[Path, typer.Option("--out", metavar="OUT", help="The folder to write.")],
    run: ScorerRun = None,
    keep: Annotated[
        float | None, typer.Option("--keep", help="The share of the new rows to keep.", show_default="0.2")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting; see `tailwright augmenters filter`."),
    ] = None,
    to: Annotated[str, typer.Option("--format", help="As in `tailwright data convert`.")] = "jsonl.gz",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if it is there.")] = False,
    seed: Seed = 0,
    on: On = None,
    workers: OnWorkers = None,
    threads: int | None = None,
) -> None:
    """Score the new rows of a corpus by a trained classifier and keep the best; original rows all stay.

    A new row is good if the classifier finds in it the labels that it finds in the row's source
    (consistency), and yet has something to learn from it (diversity).

    The corpus must say where its rows came from: jsonl, csv, tsv and parquet do, other formats do not.

    With `--on` the workers of a Ray cluster score the rows; a classifier that is trained for it is trained
    before.

    Example: `tailwright filter data2/ --with runs/plain --out data3/ --keep 0.5`
    """
    from tailwright.augmentation.filter import Filter, FilterSettings
    from tailwright.augmentation.shared.sources import refuse_without_made_rows
    from tailwright.data.write import check_format, check_place
    from tailwright.runs.augmenting import check_methods
    from tailwright.runs.scoring import row_scores

    check_on(on, workers)
    asked = Asked()
    for assignment in assignments or []:
        asked.set(assignment)
    given = {"run": None if run is None else str(run), "keep": keep}
    options = {name: value for name, value in given.items() if value is not None}
    method = Filter(settings_from(FilterSettings, {**asked.settings, **asked.augment_settings, **options}))
    check_format(to)
    check_place(target, overwrite)
    corpus = read.all_rows(path, seed)
    refuse_without_made_rows(corpus)
    check_methods([method], corpus)
    with working_on(on, workers, threads) as cluster:
        start = time.perf_counter()
        scored = row_scores(corpus, method.settings, seed=seed)
        filtered = method.acted(corpus, scored)
        seconds = time.perf_counter() - start
    _show(out, scored)
    report = write_rows(out, filtered, target, len(corpus.train), to, overwrite)
    out.next(*trained_on([str(target)], "--augment", "none"))
    out.result(**report, made=len(scored.rows), **scored.histograms(), seconds=round(seconds, 3), **cluster)


def _show(out: Output, scored: RowScores) -> None:
    """Both histograms as a table."""
    shown: dict[str, Any] = scored.histograms()
    steps = len(shown["diversity"]["rows"])
    header: list[str] = []
    columns: list[list[str]] = []
    for name, histogram in shown.items():
        header += [f"{name} up to", "new rows"]
        columns.append([f"{histogram['to'] * (step + 1) / steps:.2f}" for step in range(steps)])
        columns.append([f"{rows:,}" for rows in histogram["rows"]])
    out.table(header, list(zip(*columns, strict=True)))
    out.text()
