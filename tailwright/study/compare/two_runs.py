"""Two runs on the same test rows: what differs, where, and which labels gained and lost most."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.errors import InputError
from tailwright.evaluation.bootstrap import Difference, difference, holm_adjusted
from tailwright.evaluation.compare import label_hits
from tailwright.evaluation.row_parts import DRAWS
from tailwright.labels import head_torso_tail
from tailwright.runs.tail import Tail
from tailwright.study.compare.comparisons import ALL, METRICS, Judge, fit_for
from tailwright.study.run.exam import Exam, read_source, source_of
from tailwright.study.run.outcomes import Outcome, outcome_of_run

HITS_AT = 5
LABELS_A_SIDE = 10


@dataclass(frozen=True)
class LabelChange:
    """A label that one run finds more often than the other, among the first `HITS_AT` labels of test rows."""

    id: str
    name: str
    before: float
    after: float
    there: float
    train_rows: int


@dataclass(frozen=True)
class TwoRuns:
    """The second run against the first: differences by slice and metric, and the labels that changed most.

    Verdicts are after Holm over all differences shown. Label weights and slices of both come from the first
    run's training rows; `same_rows` says whether the second had the same counts.
    """

    data: str
    test_rows: int
    same_rows: bool
    differences: dict[str, dict[str, Difference]]
    gained: list[LabelChange]
    lost: list[LabelChange]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        differences = {
            name: {metric: {**asdict(one), "verdict": one.verdict} for metric, one in by_metric.items()}
            for name, by_metric in self.differences.items()
        }
        return {**asdict(self), "differences": differences}


def compare_runs(first: Path, second: Path, data: Path | None = None, tail: Tail = 0.0) -> TwoRuns:
    """Judge both runs on the test rows of the corpus they were trained on, or on those of `data`."""
    corpus = read_source(str(data)) if data is not None else _common_corpus(first, second)
    before, after = (outcome_of_run(folder, corpus, tail) for folder in (first, second))
    return compare_outcomes(before, after, corpus)


def compare_outcomes(before: Outcome, after: Outcome, corpus: Corpus, draws: int = DRAWS) -> TwoRuns:
    """The same for two outcomes on the test rows of `corpus`."""
    exam = Exam(before.cell.dataset, corpus)
    judge = Judge(exam, draws)
    metrics = fit_for(METRICS, before.n_train)
    unadjusted: dict[tuple[str, str], Difference] = {}
    for name, mask in {ALL: None, **head_torso_tail(before.counts)}.items():
        was, now = (judge.drawn(one, metrics, mask, weighed_as=before) for one in (before, after))
        for metric in metrics:
            one = difference([was], [now], metric)
            if one is not None:
                unadjusted[name, metric] = one
    differences: dict[str, dict[str, Difference]] = {}
    for (name, metric), one in zip(unadjusted, holm_adjusted(list(unadjusted.values())), strict=True):
        differences.setdefault(name, {})[metric] = one
    gained, lost = _changes(before, after, exam)
    same = bool(np.array_equal(before.counts, after.counts))
    return TwoRuns(corpus.source, len(exam.test), same, differences, gained, lost)


def _common_corpus(first: Path, second: Path) -> Corpus:
    """The corpus that both run folders name."""
    one, other = source_of(first), source_of(second)
    if Path(one).resolve() != Path(other).resolve():
        raise InputError(f"found runs on {one} and on {other}", expected="runs on one corpus, or --data PATH")
    return read_source(one)


def _changes(before: Outcome, after: Outcome, exam: Exam) -> tuple[list[LabelChange], list[LabelChange]]:
    """The labels that gained most and those that lost most."""
    test, labels = exam.test, exam.labels
    hits = label_hits(before.top, after.top, test.targets, HITS_AT, test.excluded)
    gained, lost = (
        [
            LabelChange(
                labels.ids[label].as_py(),
                labels.names[label].as_py(),
                float(hits.before[label]),
                float(hits.after[label]),
                float(hits.there[label]),
                int(before.counts[label]),
            )
            for label in side.tolist()
        ]
        for side in hits.most_changed(LABELS_A_SIDE)
    )
    return gained, lost
