"""Figures 2, 4 and 5 and table 4 of the Gandalf paper, out of the finished cells of a study.

    python -m tools.gandalf_figures DIR --dataset winapi-seealso [--model inceptionxml-lf] [--seed 0]

| of the paper | here |
|---|---|
| figure 2 | cosines of training texts with other texts, under the model trained in each way |
| figure 4 | P@1 on training and on test rows after each epoch; the study needs `curves = true` |
| figure 5 | labels and their companions in the label graph, and how many of them share words |
| table 4 | the first five labels of some test rows, for every model that has all three columns |

Figures 2 and 4 are of one model, table 4 of all. Labels and test rows are drawn by `--seed`, not chosen: rows
among those where a column of table 4 has more right labels than another.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tailwright.cli.output import Output
from tailwright.data.corpus import Corpus
from tailwright.data.text.words import split_words
from tailwright.errors import InputError, TailwrightError
from tailwright.labels import GraphSettings
from tailwright.labels.annotations import soft_annotations
from tailwright.labels.shared import graph_of_originals
from tailwright.runs.run import load
from tailwright.streams import stream
from tailwright.study.compare.sheets import Sheet
from tailwright.study.plan.cells import BASELINE
from tailwright.study.quality.similarity import RANDOM, similarities
from tailwright.study.run.exam import Exam, exam_of
from tailwright.study.run.outcomes import Outcome, outcomes_of
from tailwright.study.run.trial import rows_of
from tools.plain_sheets import plain_sheet, print_sheets

COLUMNS = (BASELINE, "labelmix", "gandalf")  # of table 4
SHOWN = 5  # labels of a text, in table 4
LABELS, COMPANIONS = 4, 5  # of figure 5
WRONG = "✗ "


def similarity_sheet(outcomes: Sequence[Outcome], corpus: Corpus, seed: int) -> Sheet:
    """Figure 2: quantiles of the cosines with each kind of text."""
    rows = []
    for outcome in outcomes:
        if outcome.folder is None or not (outcome.folder / "run").is_dir():
            continue
        cosines = similarities(load(outcome.folder / "run"), corpus, seed)
        far = float(np.quantile(cosines[RANDOM], 0.95)) if RANDOM in cosines else np.nan
        for kind, values in cosines.items():
            low, median, high = np.quantile(values, [0.1, 0.5, 0.9])
            nearer = 100 * float(np.mean(values > far))
            rows.append([outcome.cell.augmentation, kind, *(f"{x:.2f}" for x in (low, median, high))])
            rows[-1].append(f"{nearer:.0f}")
    columns = ["trained with", "text", "10 %", "median", "90 %", "nearer than 95 % of random documents, in %"]
    return plain_sheet("Figure 2: cosine of a training text with other texts", columns, rows)


def curve_sheet(outcomes: Sequence[Outcome]) -> Sheet:
    """Figure 4: P@1 on watched training and test rows, and how far they are apart."""
    rows = []
    for outcome in outcomes:
        for number, watched in enumerate(_watched(outcome), 1):
            train, test = watched["train"], watched["test"]
            values = (f"{train:.1f}", f"{test:.1f}", f"{train - test:.1f}")
            rows.append([outcome.cell.augmentation, str(number), *values])
    columns = ["trained with", "epoch", "P@1, training rows", "P@1, test rows", "apart"]
    return plain_sheet("Figure 4: training and test rows, epoch by epoch", columns, rows, words=1)


def _watched(outcome: Outcome) -> list[Mapping[str, float]]:
    """What was watched after each epoch, in the order of phases; of an epoch logged twice, the last."""
    epochs = {
        (event["phase"], event["epoch"]): event["watched"]
        for event in outcome.log
        if event.get("event") == "epoch" and {"train", "test"} <= set(event.get("watched") or ())
    }
    return list(epochs.values())


def companion_sheet(corpus: Corpus, seed: int) -> Sheet:
    """Figure 5: some labels with their strongest companions."""
    labels, draw = corpus.labels, stream(seed, "gandalf-figures/labels")
    targets = soft_annotations(graph_of_originals(corpus.train, GraphSettings(), seed))
    targets.setdiag(0)
    targets.eliminate_zeros()
    companions = np.diff(targets.indptr)
    # Of labels with many companions, as in the paper; where none has as many, of those that have most.
    able = np.flatnonzero(companions >= np.clip(companions.max(initial=0), 1, COMPANIONS))
    rows = []
    for label in np.sort(draw.permutation(able)[:LABELS]):
        pairs = slice(targets.indptr[label], targets.indptr[label + 1])
        order = np.argsort(-targets.data[pairs], kind="stable")[:COMPANIONS]
        for other, value in zip(targets.indices[pairs][order], targets.data[pairs][order], strict=True):
            shared = " ".join(sorted(_words(corpus, label) & _words(corpus, other)))
            rows.append([labels.names[int(label)].as_py(), labels.names[int(other)].as_py(), shared])
            rows[-1].append(f"{value:.2f}")
    sharing, by_chance = _sharing_words(corpus, targets, draw)
    note = (
        f"{sharing:.0f} % of all companions share a word with their label, "
        f"of labels drawn at random {by_chance:.0f} %."
    )
    columns = ["label", "companion", "words in common", "soft target"]
    return plain_sheet("Figure 5: labels and their companions", columns, rows, words=3, notes=[note])


def _words(corpus: Corpus, label: int) -> set[str]:
    return set(split_words(corpus.labels.texts[int(label)].as_py()))


def _sharing_words(corpus: Corpus, targets: Any, draw: np.random.Generator) -> tuple[float, float]:
    """Percent of the companions, and of random labels in their places, with a word of the label."""
    words = [set(split_words(text)) for text in corpus.labels.texts.to_pylist()]
    owners = np.repeat(np.arange(targets.shape[0]), np.diff(targets.indptr))
    if not len(owners):
        return 0.0, 0.0
    others = draw.integers(0, targets.shape[0], len(owners))
    shares = [
        100 * float(np.mean([bool(words[one] & words[two]) for one, two in zip(owners, side, strict=True)]))
        for side in (targets.indices, others)
    ]
    return shares[0], shares[1]


def prediction_sheet(
    by_model: Mapping[str, Mapping[str, Outcome]], exam: Exam, rows: int, seed: int
) -> Sheet:
    """Table 4: what each model says of some test rows, without and with each augmentation."""
    whole = {name: cells for name, cells in by_model.items() if set(COLUMNS) <= set(cells)}
    tops = {
        name: {column: _first(cells[column], exam) for column in COLUMNS} for name, cells in whole.items()
    }
    right = {name: {c: _right(top, exam) for c, top in of_model.items()} for name, of_model in tops.items()}
    differing = np.zeros(len(exam.test), dtype=bool)
    for of_model in right.values():
        counts = np.stack([found.sum(axis=1) for found in of_model.values()])
        differing |= counts.min(axis=0) < counts.max(axis=0)
    drawn = stream(seed, "gandalf-figures/rows").permutation(np.flatnonzero(differing))[:rows]
    lines = [
        [exam.test.texts[int(row)].as_py(), name]
        + [_named(tops[name][column][row], right[name][column][row], exam) for column in COLUMNS]
        for row in np.sort(drawn)
        for name in whole
    ]
    notes = [f"{WRONG.strip()} marks a label that the text does not have."]
    for name, of_model in right.items():
        notes.append(f"{name}: {_balance(of_model)}")
    return plain_sheet("Table 4: first five labels", ["text", "model", *COLUMNS], lines, words=5, notes=notes)


def _first(outcome: Outcome, exam: Exam) -> np.ndarray:
    """(test rows, 5): the best labels that are not excluded, -1 behind the last."""
    first = np.full((len(outcome.top), SHOWN), -1, dtype=np.int64)
    excluded = exam.test.excluded
    for row, labels in enumerate(outcome.top):
        barred = excluded.indices[excluded.indptr[row] : excluded.indptr[row + 1]]
        kept = labels[(labels >= 0) & ~np.isin(labels, barred)][:SHOWN]
        first[row, : len(kept)] = kept
    return first


def _right(top: np.ndarray, exam: Exam) -> np.ndarray:
    """(test rows, 5) bool: whether the text has the label."""
    targets = exam.test.targets
    pairs = np.repeat(np.arange(len(top)), np.diff(targets.indptr)) * targets.shape[1] + targets.indices
    return np.isin(np.arange(len(top))[:, None] * targets.shape[1] + top, pairs) & (top >= 0)


def _named(labels: np.ndarray, right: np.ndarray, exam: Exam) -> str:
    named = zip(labels[labels >= 0], right[labels >= 0], strict=True)
    return "; ".join(("" if ok else WRONG) + exam.labels.names[int(label)].as_py() for label, ok in named)


def _balance(right: Mapping[str, np.ndarray]) -> str:
    """On how many test rows an augmentation has more right labels than none, and on how many fewer."""
    plain = right[BASELINE].sum(axis=1)
    changes = {column: right[column].sum(axis=1) - plain for column in COLUMNS[1:]}
    said = [
        f"with {column} more of the five are right on {int((change > 0).sum()):,} test rows, "
        f"fewer on {int((change < 0).sum()):,}"
        for column, change in changes.items()
    ]
    return "; ".join(said) + "."


def sheets_of(
    outcomes: Sequence[Outcome], exam: Exam, *, dataset: str, model: str, rows: int, seed: int
) -> list[Sheet]:
    """All four, of the first seed of each cell over all training rows of a dataset."""
    first: dict[str, dict[str, Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.cell.seed):
        if outcome.cell.dataset == dataset and outcome.cell.fraction == 1:
            first.setdefault(outcome.cell.system, {}).setdefault(outcome.cell.augmentation, outcome)
    named = [system for system, cells in first.items() if model in (system, _any(cells).cell.model)]
    if not named:
        there = ", ".join(sorted(first)) or "none"
        raise InputError(f"no finished cells of {model} on {dataset}", expected=f"one of: {there}")
    cells = list(first[named[0]].values())
    corpus = rows_of(cells[0].cell, exam.corpus)
    return [
        similarity_sheet([one for one in cells if one.cell.augmentation in COLUMNS], corpus, seed),
        curve_sheet(cells),
        companion_sheet(corpus, seed),
        prediction_sheet(first, exam, rows, seed),
    ]


def _any(cells: Mapping[str, Outcome]) -> Outcome:
    return next(iter(cells.values()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the sheets as Markdown or JSON; the exit code is that of `tailwright`."""
    parser = argparse.ArgumentParser(prog="python -m tools.gandalf_figures", description=__doc__)
    parser.add_argument("study", metavar="DIR", type=Path, help="a folder of `tailwright study`")
    parser.add_argument("--dataset", default="winapi-seealso", help="its name in the study")
    parser.add_argument("--model", default="inceptionxml-lf", help="the model of figures 2 and 4")
    parser.add_argument("--rows", type=int, default=5, help="test rows of table 4")
    parser.add_argument("--seed", type=int, default=0, help="what draws rows and labels")
    parser.add_argument("--json", action="store_true", help="print the result as one line of JSON")
    asked = parser.parse_args(arguments)
    out = Output(asked.json, quiet=True)
    try:
        outcomes = outcomes_of(asked.study)
        of_dataset = [outcome.cell for outcome in outcomes if outcome.cell.dataset == asked.dataset]
        if not of_dataset:
            raise InputError(f"no finished cells of {asked.dataset}", path=asked.study)
        chosen = {name: getattr(asked, name) for name in ("dataset", "model", "rows", "seed")}
        sheets = sheets_of(outcomes, exam_of(of_dataset[0]), **chosen)
    except TailwrightError as error:
        print(f"gandalf_figures: {error}", file=sys.stderr)
        return error.exit_code
    print_sheets(out, f"{asked.model} on {asked.dataset}", sheets)
    return 0


if __name__ == "__main__":
    sys.exit(main())
