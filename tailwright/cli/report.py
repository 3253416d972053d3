"""`tailwright report`: runs picked by hand in one HTML file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from tailwright.cli.hints import predicted
from tailwright.cli.options import TailOption, TestData, command, tail_of
from tailwright.cli.output import Output


@command
def report(
    out: Output,
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders.")],
    data: TestData = None,
    tail: TailOption = "0",
    path: Annotated[Path, typer.Option("--out", metavar="FILE", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    title: Annotated[str, typer.Option("--title", help="What stands on top.")] = "Tailwright report",
) -> None:
    """Runs side by side: metrics, gain by label frequency, curves, similarities, predictions to search, cost.

    One file that opens without a network. Runs of one model, augmentation and number of rows that differ in
    their seed become one line with a standard deviation; a run without augmentation is what the others of its
    model are compared with.

    Example: `tailwright report runs/plain runs/gandalf --out report.html`
    """
    from tailwright.study.report.writing import picked_outcomes, plotly_js, write_report

    plotly_js()
    outcomes, exams = picked_outcomes(runs, data, tail_of(tail))
    options = [*(["--data", str(data)] if data else []), *(["--tail", tail] if tail_of(tail) else [])]
    words = [*map(str, runs), *options, "--out", str(path)]
    command = shlex.join(["tailwright", "report", *words])
    write_report(path, outcomes, exams, title=title, command=command)
    out.text(f"wrote {path}")
    out.next(*predicted(runs[0], next(iter(exams.values())).test.texts))
    out.result(
        report=str(path),
        bytes=path.stat().st_size,
        runs=[str(run) for run in runs],
        titles=[outcome.cell.title for outcome in outcomes],
    )
