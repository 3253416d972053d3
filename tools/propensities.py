"""PSP of a study's cells under the two conventions that XDA's table 2 mixes.

    python -m tools.propensities DIR [--metric PSP@1 PSP@5]

| convention | constants | counts |
|---|---|---|
| usual | A = 0.55, B = 1.5 | training rows |
| xda | A = 0.6, B = 2.6 | training and test rows |

The paper copies the baselines' figures from papers of the first convention and measures its own system by the
second. Each line is a model with an augmentation: means over seeds, and the gain over the same model without
augmentation. A gain that is larger under one convention says how much of a published one may be the metric.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from tailwright.cli.output import Output
from tailwright.errors import TailwrightError
from tailwright.evaluation import metrics_at_k
from tailwright.labels import Propensity
from tailwright.study.plan.cells import BASELINE, Cell
from tailwright.study.run.exam import Exam, exam_of
from tailwright.study.run.outcomes import Outcome, outcomes_of

USUAL, XDA = Propensity(0.55, 1.5), Propensity(0.6, 2.6)
METRICS = ("PSP@1", "PSP@3", "PSP@5")


def inverse_propensities(outcome: Outcome, exam: Exam) -> dict[str, np.ndarray]:
    """(labels,) of each convention, for what a cell was trained and judged on."""
    tested = np.bincount(exam.test.targets.indices, minlength=exam.test.labels)
    return {
        "usual": USUAL.inverse(outcome.counts, outcome.n_train),
        "xda": XDA.inverse(outcome.counts + tested, outcome.n_train + len(exam.test)),
    }


def measured(outcome: Outcome, exam: Exam) -> dict[str, Mapping[str, float]]:
    """All metrics of a cell, by convention."""
    test = exam.test
    return {
        name: metrics_at_k(outcome.top, test.targets, inverse, (1, 3, 5), test.excluded)
        for name, inverse in inverse_propensities(outcome, exam).items()
    }


def lines_of(
    outcomes: Iterable[Outcome],
    exam: Callable[[Cell], Exam],
    metrics: Sequence[str] = METRICS,
) -> list[list[str]]:
    """(dataset, share, model, augmentation, then for each metric and convention the mean and the gain)."""
    found: dict[tuple[str, float, str], dict[str, list[dict[str, Mapping[str, float]]]]] = {}
    for outcome in outcomes:
        cell = outcome.cell
        of_model = found.setdefault((cell.dataset, cell.fraction, cell.system), {})
        of_model.setdefault(cell.augmentation, []).append(measured(outcome, exam(cell)))
    lines = []
    for (dataset, fraction, system), by_augmentation in found.items():
        for augmentation, cells in by_augmentation.items():
            line = [dataset, f"{100 * fraction:g} %", system, augmentation]
            for metric in metrics:
                for convention in ("usual", "xda"):
                    mean = statistics.fmean(cell[convention][metric] for cell in cells)
                    line.append(f"{mean:.2f}")
                    plain = by_augmentation.get(BASELINE)
                    gain = ""
                    if plain is not None and augmentation != BASELINE:
                        gain = f"{mean - statistics.fmean(cell[convention][metric] for cell in plain):+.2f}"
                    line.append(gain)
            lines.append(line)
    return lines


def header(metrics: Sequence[str] = METRICS) -> list[str]:
    columns = ["dataset", "share", "model", "augmentation"]
    for metric in metrics:
        for convention in ("usual", "xda"):
            columns += [f"{metric}, {convention}", "gain"]
    return columns


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit code is that of `tailwright`."""
    parser = argparse.ArgumentParser(prog="python -m tools.propensities", description=__doc__)
    parser.add_argument("study", metavar="DIR", type=Path, help="a folder of `tailwright study`")
    parser.add_argument(
        "--metric", nargs="+", choices=METRICS, default=["PSP@1", "PSP@5"], help="the columns"
    )
    parser.add_argument("--json", action="store_true", help="print the result as one line of JSON")
    asked = parser.parse_args(arguments)
    out = Output(asked.json, quiet=True)
    try:
        lines = lines_of(outcomes_of(asked.study), exam_of, asked.metric)
    except TailwrightError as error:
        print(f"propensities: {error}", file=sys.stderr)
        return error.exit_code
    out.table(header(asked.metric), lines)
    out.result(columns=header(asked.metric), lines=lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
