"""What the dial for the tail gives and costs on rows that a run has not learnt from, and what they advise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tailwright.data.dataset import Dataset
from tailwright.evaluation import TopK
from tailwright.evaluation.row_parts import row_parts
from tailwright.runs.ensemble import Ensemble
from tailwright.runs.evaluation import ranked
from tailwright.runs.facts import TailAdvice
from tailwright.runs.run import Run
from tailwright.runs.tail import check_dial, depth_for, reordered, tail_weights

SHOWN = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
TRIED = tuple(step / 20 for step in range(21))
MOST_LOST = 1.0  # points of P@1 that a recommended tail may cost
LEAST_OFF = 0.1  # how far probabilities are off at least, of labels that a tail puts first
METRICS = ("P@1", "P@5", "PSP@1", "PSP@5")


@dataclass(frozen=True)
class Trade:
    """Metrics in percent by tail, and the tail that these rows recommend."""

    metrics: dict[float, dict[str, float]]
    advice: TailAdvice

    def shown(self) -> dict[float, dict[str, float]]:
        """The tails that are worth a line, ascending, the recommended one among them."""
        return {tail: self.metrics[tail] for tail in sorted({*SHOWN, self.advice.tail})}


def trade(run: Run | Ensemble, data: Dataset) -> Trade:
    """What each tail gives on `data`; the model ranks the rows once."""
    check_dial(run)
    top = ranked(run, data, (depth_for(5, len(run.labels)),))
    weights = tail_weights(run.labels.counts, run.train_rows)
    return trade_of(top, run.probabilities(top), data, weights)


def trade_of(top: TopK, probabilities: np.ndarray, data: Dataset, weights: np.ndarray) -> Trade:
    """The same for a ranking with its `probabilities`; `weights` (labels,) are inverse propensities."""
    width = 5 + int(np.diff(data.excluded.indptr).max(initial=0))
    plain = row_parts(top, data.targets, weights, METRICS, data.excluded)
    believed = TopK(top.ids, probabilities)
    first = first_scores(believed, data.excluded)
    off = max(LEAST_OFF, abs(float(np.mean(first - plain.achieved[:, 0]))))
    metrics, lost = {}, {}
    for tail in sorted({*SHOWN, *TRIED}):
        order = reordered(believed, probabilities, weights, tail, width) if tail else believed
        parts = row_parts(order, data.targets, weights, METRICS, data.excluded)
        observed = plain.achieved[:, 0] - parts.achieved[:, 0]
        metrics[tail] = parts.values()
        lost[tail] = expected_loss(observed, first - first_scores(order, data.excluded), off)
    allowed = [tail for tail in TRIED if lost[tail] <= MOST_LOST]
    # Of equal ones the smallest.
    best = max(allowed, key=lambda tail: worth(metrics[tail]))
    changes = {name: metrics[best][name] - metrics[0.0][name] for name in METRICS}
    advice = TailAdvice(tail=best, rows=len(data), p1=changes["P@1"], psp5=changes["PSP@5"])
    return Trade(metrics, advice)


def worth(metrics: Mapping[str, float]) -> float:
    """A point of P@1 is worth a point of PSP, so that nothing is paid for a gain that is smaller."""
    return metrics["P@1"] + (metrics["PSP@1"] + metrics["PSP@5"]) / 2


def expected_loss(observed: np.ndarray, foreseen: np.ndarray, off: float) -> float:
    """Points of P@1 that other rows will lose, by what each row (rows,) lost and was to lose by probability.

    Many rows speak for themselves. Few say little: of 300, a tail that seems to cost nothing may well cost a
    point, and probabilities that hold know better. So each mean counts by how exact it is; `off` is how far
    the probabilities of first labels are, where these change.

    >>> round(expected_loss(np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.04, 0.0, 0.0, 0.0]), 0.1), 2)
    1.32
    """
    error = observed.std() / len(observed) ** 0.5
    foreseen_error = off * np.mean(foreseen != 0)
    share = foreseen_error**2 / max(foreseen_error**2 + error**2, np.finfo(np.float64).tiny)
    return float(100 * (share * observed.mean() + (1 - share) * foreseen.mean()))


def first_scores(top: TopK, excluded: sparse.csr_array) -> np.ndarray:
    """(rows,): the score of each row's first label that is not excluded, 0 where there is none.

    >>> top = TopK(np.array([[2, 0], [1, -1]]), np.array([[0.9, 0.5], [0.4, 0.0]]))
    >>> first_scores(top, sparse.csr_array(np.array([[0, 0, 1], [0, 0, 0]]))).tolist()
    [0.5, 0.4000000059604645]
    """
    rows = np.arange(len(top))
    shown = top.ids >= 0
    if excluded.nnz:
        shown &= excluded[rows[:, None], np.maximum(top.ids, 0)].toarray() == 0
    first = shown.argmax(axis=1)
    return np.where(shown[rows, first], top.scores[rows, first], 0.0)
