"""`tailwright compare`: two runs on the same test rows, with intervals and verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailwright.cli.hints import free_name
from tailwright.cli.options import TailOption, TestData, command, tail_of
from tailwright.cli.output import Output
from tailwright.study.page import short


@command
def compare(
    out: Output,
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="A run folder: what to compare with.")],
    second: Annotated[Path, typer.Argument(metavar="RUN_B", help="A run folder over the same labels.")],
    data: TestData = None,
    tail: TailOption = "0",
) -> None:
    """By how much RUN_B is better than RUN_A, overall and by label frequency, and whether that may be noise.

    Intervals and verdicts come from a paired bootstrap over the test rows, corrected for the number of
    differences shown. They hold for these two runs; for two methods, train several seeds in a study.

    Example: `tailwright compare runs/plain runs/gandalf`
    """
    from tailwright.evaluation.bootstrap import ONE_SEED
    from tailwright.study.compare.two_runs import HITS_AT, compare_runs

    comparison = compare_runs(first, second, data, tail_of(tail))
    rows = [
        [name, metric, *one.cells()]
        for name, by_metric in comparison.differences.items()
        for metric, one in by_metric.items()
    ]
    where = f"{comparison.test_rows:,} test rows of {comparison.data}"
    if tail_of(tail):
        where += f" with --tail {tail}"
    out.text(f"{second} against {first}, in points of percent on {where}:")
    out.table(["labels", "metric", "points", "95 % interval", "rows", "so it is"], rows)
    out.text(ONE_SEED)
    if not comparison.same_rows:
        out.text("The runs were trained on different rows: propensities and slices are those of the first.")
    for what, changes in (("gained", comparison.gained), ("lost", comparison.lost)):
        if not changes:
            out.text(f"\nNo label {what}.")
            continue
        rows = [
            [
                short(one.name, 60),
                f"{one.before:g}",
                f"{one.after:g}",
                f"{one.there:g}",
                f"{one.train_rows:,}",
            ]
            for one in changes
        ]
        out.text(f"\nLabels that {what} most, by how often they are found among the first {HITS_AT}:")
        out.table(["label", "found before", "found now", "there are", "training rows"], rows)
    options = [*(["--data", str(data)] if data else []), *(["--tail", tail] if tail_of(tail) else [])]
    out.next("report", str(first), str(second), *options, "--out", free_name("report.html"))
    out.result(runs=[str(first), str(second)], tail=tail_of(tail), **comparison.as_dict())
