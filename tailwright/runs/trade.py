"""What the dial for the tail gives and costs on rows that a run has not learnt from, and what they advise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
MOST_LOST = 1.0  # points of P@1 that a recommended tail may cost, one standard error included
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
    metrics, lost = {}, {}
    plain = row_parts(top, data.targets, weights, METRICS, data.excluded)
    for tail in sorted({*SHOWN, *TRIED}):
        order = reordered(top, probabilities, weights, tail, width) if tail else top
        parts = row_parts(order, data.targets, weights, METRICS, data.excluded)
        metrics[tail] = parts.values()
        lost[tail] = surely_lost(plain.achieved[:, 0] - parts.achieved[:, 0])
    before = metrics[0.0]
    # Of equal gains the smallest tail.
    allowed = [tail for tail in TRIED if lost[tail] <= MOST_LOST]
    best = max(allowed, key=lambda tail: metrics[tail]["PSP@5"])
    changes = {name: metrics[best][name] - before[name] for name in METRICS}
    advice = TailAdvice(tail=best, rows=len(data), p1=changes["P@1"], psp5=changes["PSP@5"])
    return Trade(metrics, advice)


def surely_lost(differences: np.ndarray) -> float:
    """The mean of what each row loses plus its standard error, in points of percent.

    Few rows say little: of 300, a tail that seems to cost nothing may well cost a point.

    >>> round(surely_lost(np.array([1.0, 0.0, 0.0, 0.0])), 2)
    46.65
    """
    return float(100 * (differences.mean() + differences.std() / len(differences) ** 0.5))
