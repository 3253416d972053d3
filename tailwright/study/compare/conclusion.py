"""`conclude`: what a study found, written into its folder: results, tables and the report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tailwright.errors import MissingExtraError
from tailwright.study.compare.tables import compared_for, write_tables
from tailwright.study.report import write_report
from tailwright.study.run.exam import exam_of
from tailwright.study.run.outcomes import outcomes_of
from tailwright.study.run.results import write_results
from tailwright.study.run.runner import Study


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
    results = folder / "results.parquet"
    write_results(results, outcomes, plan.title)
    written = [results]
    compared = compared_for(outcomes, exams, plan.metrics, plan.listed, against=plan.against)
    written += write_tables(
        compared,
        folder,
        metrics=plan.metrics,
        title=plan.title,
        cells=plan.listed,
        failed=failed,
        left_out=plan.left_out,
    )
    report = folder / "report.html"
    try:
        write_report(
            report,
            outcomes,
            exams,
            title=plan.title,
            comparisons=compared,
            failed=failed,
            left_out=plan.left_out,
            command=command,
        )
    except MissingExtraError as error:
        note(f"no report: {error}")
        return written
    return [*written, report]
