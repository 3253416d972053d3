"""Decoupled softmax: each positive of a row against the row's negatives alone.

With t the target of a positive, w the weight of the pair and s its score, for a batch of n rows:

    1/n sum of w t (log(exp(s) + sum of exp(s') of the row's negatives) - s)

Positives of one row do not push each other down. A soft positive counts t, unrounded, and is no negative
either. An ignored pair is neither; its gradient is exactly zero.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from tailwright.data.batch_targets import BatchTargets

# Far below any score, yet finite: a row whose every pair is masked must not give NaN.
_MASKED = -1e30


def decoupled_softmax(
    scores: torch.Tensor, targets: BatchTargets, discount: torch.Tensor | None = None
) -> torch.Tensor:
    """The loss of `scores` (batch, labels), whose labels are numbered as those of the targets are.

    `discount` (labels,) is taken off a label's score where it is a negative. With the logarithm of the
    probability that the label is in a batch, the sum over the batch's labels stands for the sum over all;
    without it, frequent labels, which are in most batches, are pushed down more than they deserve.
    """
    rivals = scores if discount is None else scores - discount
    rows = torch.from_numpy(np.concatenate([targets.rows, targets.ignored_rows]))
    labels = torch.from_numpy(np.concatenate([targets.labels, targets.ignored]).astype(np.int64))
    if len(rows):
        rivals = rivals.index_put((rows, labels), scores.new_tensor(_MASKED))
    negatives = torch.logsumexp(rivals, 1)  # (batch,)
    learnt = targets.learnt()
    rows, labels = torch.from_numpy(learnt.rows), torch.from_numpy(learnt.labels.astype(np.int64))
    losses = functional.softplus(negatives[rows] - scores[rows, labels])  # (positives,)
    factors = learnt.values * learnt.pair_weights(learnt.rows, learnt.labels)
    return losses @ torch.from_numpy(factors).to(scores.dtype) / max(len(scores), 1)
