"""Tables 1 to 7 of the GDA paper in its layout, out of the finished cells of a study.

    python -m tools.gda_tables DIR --path cve-libraries [--classifiers OTHER]

| of the paper | here |
|---|---|
| tables 1, 2 | classifiers trained on all rows without augmentation, of another study where one is given |
| table 3 | the share of all (row, label) pairs that the most frequent labels have |
| tables 4, 5 | RoBERTa by share of the training rows and augmentation; 5 has the metrics by propensity |
| tables 6, 7 | the same of LA-RoBERTa |

A figure is the mean over seeds; behind ± is the standard deviation. Rows are those that a training reads,
with new ones; the weight of these is what validation rows chose for each seed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tailwright.cli.output import Output
from tailwright.errors import InputError, TailwrightError
from tailwright.study.compare.sheets import Sheet
from tailwright.study.plan.cells import BASELINE
from tailwright.study.run.outcomes import Outcome, outcomes_of
from tools.plain_sheets import plain_sheet, print_sheets

PLAIN = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5")
BY_PROPENSITY = ("PSP@1", "PSP@3", "PSP@5", "PSnDCG@3", "PSnDCG@5")
MODELS = {"RoBERTa": "roberta", "LA-RoBERTa": "la-roberta"}  # as in the paper: as here
AUGMENTATIONS = (BASELINE, "gda", "eda", "wordnet")  # in the order of the paper
FREQUENT = 5  # labels of table 3


def classifier_sheet(number: int, outcomes: Sequence[Outcome], metrics: Sequence[str]) -> Sheet:
    """Table 1 or 2: each system without augmentation on all rows."""
    systems: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.cell.fraction == 1 and outcome.cell.augmentation == BASELINE:
            systems[outcome.cell.system].append(outcome)
    rows = [
        [system, f"{len(cells)}", *(_figure(cells, metric) for metric in metrics)]
        for system, cells in systems.items()
    ]
    title = f"Table {number}: classifiers without augmentation"
    return plain_sheet(title, ["model", "seeds", *metrics], rows, words=1)


def frequent_sheet(outcome: Outcome) -> Sheet:
    """Table 3, from the counts of one cell over all rows: labels that take most of the training pairs."""
    shares = 100 * outcome.counts / max(outcome.counts.sum(), 1)
    most = np.argsort(-shares, kind="stable")[:FREQUENT]
    rows = [[f"{place}", f"{shares[label]:.2f}"] for place, label in enumerate(most, 1)]
    note = f"Together {shares[most].sum():.1f} % of all pairs, of {len(shares):,} labels."
    columns = ["label, by frequency", "% of pairs"]
    return plain_sheet("Table 3: what the most frequent labels take", columns, rows, words=1, notes=[note])


def augmentation_sheet(number: int, name: str, outcomes: Sequence[Outcome], metrics: Sequence[str]) -> Sheet:
    """Table 4, 5, 6 or 7: one classifier by share of the rows and augmentation."""
    groups: dict[tuple[float, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.cell.model == MODELS[name]:
            groups[outcome.cell.fraction, outcome.cell.augmentation].append(outcome)
    rows = []
    for fraction in sorted({fraction for fraction, _ in groups}, reverse=True):
        for augmentation in AUGMENTATIONS:
            cells = groups.get((fraction, augmentation), [])
            if cells:
                head = [f"{100 * fraction:g} %", augmentation, _rows(cells), _weights(cells), f"{len(cells)}"]
                rows.append([*head, *(_figure(cells, metric) for metric in metrics)])
    columns = ["share", "augmentation", "rows", "weight", "seeds", *metrics]
    return plain_sheet(f"Table {number}: {name}", columns, rows)


def _figure(cells: Sequence[Outcome], metric: str) -> str:
    values = [cell.metrics[metric] for cell in cells]
    mean = f"{statistics.fmean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.2f}"


def _rows(cells: Sequence[Outcome]) -> str:
    return f"{statistics.fmean(cell.n_train + cell.n_augmented for cell in cells):,.0f}"


def _weights(cells: Sequence[Outcome]) -> str:
    """What the search chose, a number for each seed; empty where nothing was searched."""
    chosen = [value for cell in cells for value in cell.chosen.values()]
    return ", ".join(f"{value:g}" for value in chosen)


def sheets_of(
    outcomes: Sequence[Outcome], path: str, classifiers: Sequence[Outcome] | None = None
) -> list[Sheet]:
    """All seven, of the cells whose data lies in a folder of this name; 1 and 2 of `classifiers` if given."""
    here = _cells_of(path, outcomes)
    compared = here if classifiers is None else _cells_of(path, classifiers)
    whole = [outcome for outcome in here if outcome.cell.fraction == 1]
    first, second = MODELS
    return [
        classifier_sheet(1, compared, PLAIN),
        classifier_sheet(2, compared, BY_PROPENSITY),
        frequent_sheet(whole[0]),
        augmentation_sheet(4, first, here, PLAIN),
        augmentation_sheet(5, first, here, BY_PROPENSITY),
        augmentation_sheet(6, second, here, PLAIN),
        augmentation_sheet(7, second, here, BY_PROPENSITY),
    ]


def _cells_of(path: str, outcomes: Sequence[Outcome]) -> list[Outcome]:
    here = [outcome for outcome in outcomes if Path(outcome.cell.path).name == path]
    if not any(outcome.cell.fraction == 1 for outcome in here):
        there = ", ".join(sorted({Path(outcome.cell.path).name for outcome in outcomes})) or "none"
        raise InputError(f"no finished cells of {path} with all rows", expected=f"one of: {there}")
    return sorted(here, key=lambda outcome: outcome.cell.seed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables as Markdown or JSON; the exit code is that of `tailwright`."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.gda_tables",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("study", metavar="DIR", type=Path, help="a folder of `tailwright study`")
    parser.add_argument(
        "--classifiers", metavar="OTHER", type=Path, help="a study that compares classifiers: tables 1 and 2"
    )
    parser.add_argument("--path", default="cve-libraries", help="the folder that the data lies in")
    parser.add_argument("--json", action="store_true", help="print the result as one line of JSON")
    asked = parser.parse_args(arguments)
    out = Output(asked.json, quiet=True)
    try:
        others = outcomes_of(asked.classifiers) if asked.classifiers else None
        sheets = sheets_of(outcomes_of(asked.study), asked.path, others)
    except TailwrightError as error:
        print(f"gda_tables: {error}", file=sys.stderr)
        return error.exit_code
    print_sheets(out, f"The tables of the GDA paper on {asked.path}", sheets)
    return 0


if __name__ == "__main__":
    sys.exit(main())
