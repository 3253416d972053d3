"""Decoupled softmax: each positive of a row against the row's negatives alone.

With t the target of a positive, w the weight of the pair and s its score, for a batch of n rows:

    1/n sum of w t (log(exp(s) + sum of exp(s') of the row's negatives) - s)

Positives of one row do not push each other down. A soft positive counts t, unrounded, and is no negative
either. An ignored pair is neither; its gradient is exactly zero.

With g = w t / n and p the positive's share of its denominator, the gradient of a positive's score is
-g (1 - p); what the positives of a row lose so, its negatives gain by their softmax.
"""

from __future__ import annotations

import numpy as np

from tailwright.data.batch_targets import BatchTargets

# Far below any score, yet finite: a row whose every pair is masked must not give NaN.
_MASKED = -1e30


def decoupled_softmax(
    scores: np.ndarray, targets: BatchTargets, discount: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    """The loss of `scores` (batch, labels), and its gradient, which takes the place of the scores.

    Labels are numbered as those of the targets are. `discount` (labels,) is taken off a label's score where
    it is a negative. With the logarithm of the probability that the label is in a batch, the sum over the
    batch's labels stands for the sum over all; without it, frequent labels, which are in most batches, are
    pushed down more than they deserve.
    """
    learnt = targets.learnt()
    positive = learnt.rows, learnt.labels
    own = scores[positive]  # (positives,)
    if discount is not None:
        scores -= discount
    scores[targets.rows, targets.labels] = _MASKED
    scores[targets.ignored_rows, targets.ignored] = _MASKED
    best = scores.max(axis=1, initial=_MASKED)  # (batch,)
    scores -= best[:, None]
    np.exp(scores, out=scores)
    sums = np.maximum(scores.sum(axis=1), np.finfo(scores.dtype).tiny)
    behind = (best + np.log(sums))[learnt.rows] - own  # (positives,): of its score, behind the negatives'
    factors = learnt.values * learnt.pair_weights(*positive) / np.float32(max(len(scores), 1))
    gradients = factors * _logistic(behind)  # (positives,), without their sign
    of_rows = np.bincount(learnt.rows, gradients, minlength=len(scores))  # (batch,)
    scores *= (of_rows / sums).astype(scores.dtype)[:, None]
    scores[positive] -= gradients
    return float(np.logaddexp(0, behind) @ factors), scores


def _logistic(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)
