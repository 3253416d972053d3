"""`conclude`: what a study found, written into its folder: results, tables and the report.

`results.parquet` has every metric of every finished cell, one a row; docs/studies.md lists the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tailwright.errors import MissingExtraError
from tailwright.store.whole_file import whole_file
from tailwright.study.compare.comparisons import ALL
from tailwright.study.compare.tables import compared_for, write_tables
from tailwright.study.report.writing import write_report
from tailwright.study.run.exam import exam_of
from tailwright.study.run.outcomes import Outcome, outcomes_of
from tailwright.study.run.runner import Study

_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("paper", "table", "dataset", "model", "augmentation")),
        ("train_fraction", pa.float64()),
        ("n_train", pa.int64()),
        ("weight", pa.float64()),
        ("variant", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("slice", pa.string()),
        ("seed", pa.int64()),
        ("train_seconds", pa.float64()),
        ("predict_seconds", pa.float64()),
        ("peak_rss_mb", pa.float64()),
        ("key", pa.string()),
    ]
)


def conclude(study: Study, command: str, note: Callable[[str], None]) -> list[Path]:
    """Write `results.parquet`, `tables.md`, `tables.tex` and `report.html` over all finished cells.

    `command` is what repeats the study. Returns the files that were written: none without a finished cell,
    and no report where an extra that it needs is missing, which `note` is told.
    """
    outcomes, plan, folder = outcomes_of(study.folder), study.plan, study.folder
    if not outcomes:
        return []
    exams = {outcome.cell.dataset: exam_of(outcome.cell) for outcome in outcomes}
    failed = {cell.title: reason for key, cell in study.cells if (reason := study.reason(key))}
    shared: dict[str, Any] = {"title": plan.title, "failed": failed, "left_out": plan.left_out}
    results_file, report = folder / "results.parquet", folder / "report.html"
    write_results(results_file, outcomes, plan.title)
    compared = compared_for(outcomes, exams, plan.metrics, plan.listed, against=plan.against)
    tables = write_tables(compared, folder, metrics=plan.metrics, cells=plan.listed, **shared)
    written = [results_file, *tables]
    try:
        write_report(report, outcomes, exams, comparisons=compared, command=command, **shared)
    except MissingExtraError as error:
        note(f"no report: {error}")
        return written
    return [*written, report]


def write_results(path: Path, outcomes: Sequence[Outcome], title: str) -> None:
    """Write the file: all of it or nothing."""
    with whole_file(path) as staged:
        pq.write_table(results(outcomes, title), staged)


def results(outcomes: Sequence[Outcome], title: str) -> pa.Table:
    """The table that the file holds."""
    rows = [row for outcome in outcomes for row in _rows(outcome, title)]
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _rows(outcome: Outcome, title: str) -> Iterator[dict[str, Any]]:
    cell = outcome.cell
    common = {
        "paper": "tailwright",
        "table": title,
        "dataset": cell.dataset,
        "model": cell.model,
        "augmentation": cell.augmentation,
        "train_fraction": cell.fraction,
        "n_train": outcome.n_train,
        "weight": _weight(outcome),
        "variant": cell.variant,
        "seed": cell.seed,
        "train_seconds": outcome.train_seconds,
        "predict_seconds": outcome.predict_seconds,
        "peak_rss_mb": outcome.peak_rss_mb,
        "key": outcome.key,
    }
    slices: Mapping[str, Mapping[str, Any]] = outcome.metrics.get("slices", {})
    for labels, metrics in {ALL: outcome.metrics, **slices}.items():
        for name, value in metrics.items():
            # Beside the metrics of a slice stand the numbers of its labels and rows.
            if "@" in name:
                yield {**common, "metric": name, "slice": labels, "value": float(value)}


def _weight(outcome: Outcome) -> float | None:
    """The loss weight that was searched or set; that of several methods is not one number."""
    cell = outcome.cell
    weights = [
        outcome.chosen.get(f"{method}.weight", cell.augment_settings.get(method, {}).get("weight"))
        for method in cell.augment
    ]
    return float(weights[0]) if len(weights) == 1 and weights[0] is not None else None
