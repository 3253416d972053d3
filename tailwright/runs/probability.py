"""Where a score becomes a probability, whatever model gave it.

The card of a model says what its scores are. Probabilities and log-odds are first made log-odds; a logistic
curve that held-out rows gave, if there were any, makes them probabilities that hold.
"""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from tailwright.data.dataset import Dataset
from tailwright.data.pairs import values_at
from tailwright.evaluation.logistic import logistic_curve
from tailwright.evaluation.ranking import TopK
from tailwright.evaluation.reliability import ranked_pairs
from tailwright.models import ScoreKind

NEAR = 1e-9  # probabilities come no nearer to 0 and 1
# Labels of a row that the curve is fitted to; with more it is about those that nobody sees: docs/tail.md.
FITTED = 10


class Calibration(BaseModel):
    """The curve factor x log-odds + offset of a run; as it stands here, the model's own scores hold."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    factor: float = Field(default=1.0, gt=0)
    offset: float = 0.0


def logit(probabilities: np.ndarray | float) -> np.ndarray:
    """Log-odds of probabilities; scipy's function takes a quarter of a second to import."""
    return np.asarray(np.log(probabilities) - np.log1p(np.negative(probabilities)))


def expit(log_odds: np.ndarray) -> np.ndarray:
    """The probabilities of log-odds."""
    small = np.exp(-np.abs(log_odds))  # never overflows
    return np.asarray(np.where(log_odds >= 0, 1.0, small) / (1.0 + small))


def log_odds_of(top: TopK, kind: ScoreKind) -> np.ndarray:
    """(rows, k) float64; scores of models that know no probabilities are taken for probabilities too."""
    scores = top.scores.astype(np.float64)
    return scores if kind == "log-odds" else logit(np.clip(scores, NEAR, 1 - NEAR))


def probabilities_of(top: TopK, kind: ScoreKind, calibration: Calibration | None = None) -> np.ndarray:
    """(rows, k) float64 in [0, 1], 0 for padding; without a calibration, what the scores say themselves.

    >>> top = TopK(np.array([[3, 1, -1]]), np.array([[2.0, 0.0, -np.inf]]))
    >>> probabilities_of(top, "log-odds").round(3).tolist()
    [[0.881, 0.5, 0.0]]
    >>> probabilities_of(top, "log-odds", Calibration(factor=0.5, offset=-1.0)).round(3).tolist()
    [[0.5, 0.269, 0.0]]
    """
    curve = calibration or Calibration()
    if kind != "log-odds" and curve == Calibration():
        probabilities = np.clip(top.scores.astype(np.float64), 0, 1)
    else:
        probabilities = expit(curve.factor * log_odds_of(top, kind) + curve.offset)
    return np.where(top.ids >= 0, probabilities, 0.0)


def calibrated(top: TopK, kind: ScoreKind, rows: Dataset) -> Calibration:
    """The curve that fits the targets of `rows`, which the model has not learnt from, best.

    Row weights count; ignored and excluded pairs do not.
    """
    first = TopK(top.ids[:, :FITTED], top.scores[:, :FITTED])
    pairs, named = ranked_pairs(first.ids, rows.labels)
    silent = (values_at(rows.ignored, pairs) > 0) | (values_at(rows.excluded, pairs) > 0)
    weights = np.where(silent, 0.0, rows.weights[np.nonzero(named)[0]])
    targets = values_at(rows.targets, pairs).astype(np.float64)
    factor, offset = logistic_curve(log_odds_of(first, kind)[named], targets, weights)
    return Calibration(factor=float(factor), offset=float(offset))
