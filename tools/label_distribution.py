"""Where the training rows of a study's cells are: the first figure of the XDA paper as a table and a plot.

    python -m tools.label_distribution DIR [--dataset NAME] [--plot FILE.svg]

Each line is an augmentation of the first seed: mean training rows of head, torso and tail labels. A made row
counts by its weight; a pair that gives no loss, such as one that `mask` took out, does not count. The paper's
figure copies every row ten times, directly and under a mask: the last two lines are these copies, with labels
of at least `--tail-below` rows as head labels.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from tailwright.cli.output import Output
from tailwright.errors import InputError, TailwrightError
from tailwright.labels import TailThresholds
from tailwright.study.page.svg import bars
from tailwright.study.plan.cells import BASELINE
from tailwright.study.run.outcomes import Outcome, outcomes_of

COPIES = 10
SLICES = ("head", "torso", "tail")


def counts_by_name(outcomes: Iterable[Outcome], dataset: str, tail_below: int) -> dict[str, np.ndarray]:
    """(labels,) training rows of each label, by the name of what made some of them."""
    found: dict[str, np.ndarray] = {}
    for outcome in outcomes:
        if outcome.cell.dataset == dataset:
            found.setdefault("original rows", outcome.counts.astype(np.float64))
            if outcome.cell.augmentation != BASELINE:
                found.setdefault(outcome.cell.augmentation, outcome.augmented_counts)
    if not found:
        raise InputError(f"no finished cell of {dataset!r}", expected="a dataset of the study")
    original = found["original rows"]
    found[f"{COPIES} copies"] = original * (1 + COPIES)
    found[f"{COPIES} copies, masked"] = np.where(original < tail_below, original * (1 + COPIES), original)
    return found


def means(counts: dict[str, np.ndarray]) -> dict[str, list[float]]:
    """The mean rows of head, torso and tail labels, which are those of the original rows."""
    slices = TailThresholds().slices(counts["original rows"].astype(np.int64))
    return {name: [float(rows[slices[one]].mean()) for one in SLICES] for name, rows in counts.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and write the plot; the exit code is that of `tailwright`."""
    parser = argparse.ArgumentParser(prog="python -m tools.label_distribution", description=__doc__)
    parser.add_argument("study", metavar="DIR", type=Path, help="a folder of `tailwright study`")
    parser.add_argument("--dataset", default="cve-libraries", help="its name in the study")
    parser.add_argument("--tail-below", type=int, default=20, help="rows that make a label a head label")
    parser.add_argument("--plot", metavar="FILE.svg", type=Path, help="draw the lines, too")
    parser.add_argument("--json", action="store_true", help="print the result as one line of JSON")
    asked = parser.parse_args(arguments)
    out = Output(asked.json, quiet=True)
    try:
        found = means(counts_by_name(outcomes_of(asked.study), asked.dataset, asked.tail_below))
        if asked.plot is not None:
            about = f"Mean training rows of head, torso and tail labels of {asked.dataset}, by augmentation."
            plot = bars(
                SLICES,
                found,
                title="Training rows a label",
                description=about,
                x_label="labels",
                y_label="training rows a label",
            )
            plot.write(asked.plot)
    except TailwrightError as error:
        print(f"label_distribution: {error}", file=sys.stderr)
        return error.exit_code
    out.table(
        ["rows", *SLICES],
        [[name, *(f"{mean:.2f}" for mean in of_slices)] for name, of_slices in found.items()],
    )
    out.result(means=found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
