"""`Ensemble`: several runs over the same labels that answer together, by the sum of their scores.

Each run names its best labels for a text. A label's score is the sum over the runs that name it, which is how
papers combine several trainings of one model. Scores must be on one scale for that: they are made
probabilities first (`tailwright.runs.probability`). Those of models that give none are added as they are.
Rankings and metrics have the sums; `predict` shows the mean of probabilities, which is one too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.corpus import LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.errors import InputError, quoted
from tailwright.evaluation.ranking import TopK, top_k_of_scores
from tailwright.runs.label_choice import Labels
from tailwright.runs.predicting import Request, Texts
from tailwright.runs.predictions import Predictions
from tailwright.runs.run import Run
from tailwright.runs.tail import Tail, tail_value, top_for_tail

ROWS_A_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Runs over the same labels; the `depth` best labels of each are added up, or k of them if k is larger.

    Label counts and the number of training rows, from which propensities come, are the first run's.
    """

    runs: tuple[Run, ...]
    depth: int = 100

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError("runs must hold at least one run")
        if self.depth < 1:
            raise ValueError(f"depth must be >= 1, got {self.depth}")
        for number, run in enumerate(self.runs[1:], start=2):
            _check_same(self.labels, run.labels, number)

    @property
    def labels(self) -> LabelSpace:
        return self.runs[0].labels

    @property
    def train_rows(self) -> int:
        return self.runs[0].train_rows

    @property
    def name(self) -> str:
        """What it is called in a heading: the models of its runs."""
        return " + ".join(run.name for run in self.runs)

    @property
    def gives_probabilities(self) -> bool:
        """Whether all its runs do."""
        return all(run.gives_probabilities for run in self.runs)

    @property
    def is_calibrated(self) -> bool:
        """Whether all its runs are."""
        return all(run.is_calibrated for run in self.runs)

    @property
    def recommended_tail(self) -> float | None:
        """The smallest that its runs recommend; None if one of them recommends none."""
        tails = [run.recommended_tail for run in self.runs]
        return None if None in tails else min(tail for tail in tails if tail is not None)

    def probabilities(self, top: TopK) -> np.ndarray:
        """(texts, k) float64: the mean over the runs, of which those that do not name a label say 0."""
        return np.where(top.ids >= 0, top.scores.astype(np.float64) / len(self.runs), 0.0)

    def top(
        self,
        texts: pa.LargeStringArray | Sequence[str],
        k: int,
        excluded: sparse.csr_array | None = None,
        tail: Tail = 0.0,
        allowed: np.ndarray | None = None,
    ) -> TopK:
        """The k labels of each text with the largest sums, best first; arguments as in `Run.top`."""
        k = min(k, max(len(self.labels), 1))
        wanted = tail_value(self, tail)
        if wanted:
            return top_for_tail(self, texts, k, excluded, wanted, allowed)
        rows = arrow_strings(texts)
        answers = [TopK(np.empty((0, k), np.int32), np.empty((0, k), np.float32))]
        for start in range(0, len(rows), ROWS_A_BLOCK):
            block = rows.slice(start, ROWS_A_BLOCK)
            barred = None if excluded is None else excluded[start : start + len(block)]
            answers.append(top_k_of_scores(self._sums(block, max(self.depth, k), barred, allowed), k))
        return TopK.concat(answers)

    def knows(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray:
        """(texts,) bool: whether one of its runs knows anything of a text."""
        return np.logical_or.reduce([run.knows(texts) for run in self.runs])

    def predict(
        self,
        texts: Texts,
        k: int = 5,
        tail: Tail = 0.0,
        threshold: float | None = None,
        only: Labels | None = None,
        without: Labels | None = None,
        abstain: float | None = None,
    ) -> Predictions:
        """The k best labels of each text, or of the one text; arguments as in `Run.predict`."""
        return Request.of(self, k, tail, threshold, only, without, abstain).answer(self, texts)

    def _sums(
        self,
        texts: pa.LargeStringArray,
        depth: int,
        excluded: sparse.csr_array | None,
        allowed: np.ndarray | None,
    ) -> sparse.csr_array:
        """(texts, labels) float64: the summed scores of all labels that a run names."""
        # In double precision, as probabilities close to 1 would become equal in single.
        places: list[np.ndarray] = []
        scores: list[np.ndarray] = []
        for run in self.runs:
            top = run.top(texts, depth, excluded, allowed=allowed)
            named = top.ids >= 0
            values = run.probabilities(top) if run.gives_probabilities else top.scores.astype(np.float64)
            places.append(np.stack([np.nonzero(named)[0], top.ids[named]]))
            scores.append(values[named])
        shape = (len(texts), len(self.labels))
        # Pairs that several runs name are added up; a sum of 0 stays, as it was named.
        pairs = np.concatenate(scores), tuple(np.concatenate(places, axis=1))
        return sparse.coo_array(pairs, shape).tocsr()


def _check_same(first: LabelSpace, other: LabelSpace, number: int) -> None:
    """Refuse a run over other labels, and name the first difference."""
    if first.ids.equals(other.ids):
        return
    if len(first) != len(other):
        raise InputError(
            f"run {number} has {len(other):,} labels", expected=f"the {len(first):,} labels of run 1"
        )
    pairs = zip(first.ids.to_pylist(), other.ids.to_pylist(), strict=True)
    place, (wanted, label) = next((i, pair) for i, pair in enumerate(pairs) if pair[0] != pair[1])
    raise InputError(
        f"label {place + 1:,} of run {number} is {quoted(label)}", expected=f"{quoted(wanted)}, as in run 1"
    )
