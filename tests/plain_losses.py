"""Losses over all pairs of rows and labels in their dense textbook form, to compare sparse ones with."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from tailwright.data.batch_targets import BatchTargets
from tailwright.training import losses


def batch_targets(targets: np.ndarray, ignored: np.ndarray, weights: np.ndarray) -> BatchTargets:
    """The targets of a batch out of dense matrices (rows, labels) and weights (rows,)."""
    starts, ignored_starts = (
        np.concatenate([[0], np.cumsum((matrix != 0).sum(axis=1))]) for matrix in (targets, ignored)
    )
    return BatchTargets(
        starts,
        np.nonzero(targets)[1].astype(np.int32),
        targets[np.nonzero(targets)].astype(np.float32),
        ignored_starts,
        np.nonzero(ignored)[1].astype(np.int32),
        weights.astype(np.float32),
    )


def dense(targets: BatchTargets, labels: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(rows, labels): the targets, and the factor on the loss of each pair, by its definition."""
    values, factors = np.zeros((2, len(targets), labels), dtype=np.float32)
    values[targets.rows, targets.labels] = targets.values
    factors[:] = targets.weights[:, None]
    if targets.label_weights is not None:
        factors *= np.where(targets.made[:, None] == 1, targets.label_weights, 1)
    factors[targets.ignored_rows, targets.ignored] = 0
    return torch.from_numpy(values), torch.from_numpy(factors)


def binary_cross_entropy(scores: torch.Tensor, targets: BatchTargets) -> torch.Tensor:
    """Summed over all pairs that are not ignored, times the row's weight, over the rows of the batch."""
    values, factors = (matrix.to(scores.dtype) for matrix in dense(targets, scores.shape[1]))
    losses = functional.binary_cross_entropy_with_logits(scores, values, reduction="none")
    return (losses * factors).sum() / max(len(scores), 1)


def decoupled_softmax(
    scores: torch.Tensor, targets: BatchTargets, discount: torch.Tensor | None = None
) -> torch.Tensor:
    """Pair by pair, with a denominator of the positive itself and of the row's negatives, discounted."""
    values, factors = (matrix.to(scores.dtype) for matrix in dense(targets, scores.shape[1]))
    ignored = np.zeros(scores.shape, dtype=bool)
    ignored[targets.ignored_rows, targets.ignored] = True
    total = scores.sum() * 0
    for row, label in zip(*np.nonzero((values.numpy() > 0) & ~ignored), strict=True):
        others = [
            other
            for other in range(scores.shape[1])
            if other == label or (values[row, other] == 0 and not ignored[row, other])
        ]
        logits = scores[row, others]
        if discount is not None:
            logits = logits - discount[others] * torch.tensor([other != label for other in others])
        probability = torch.softmax(logits, 0)[others.index(label)]
        total = total - factors[row, label] * values[row, label] * torch.log(probability)
    return total / max(len(scores), 1)


def differentiable(scores: torch.Tensor, targets: BatchTargets) -> torch.Tensor:
    """The package's decoupled softmax, with the gradients that it gives itself."""
    result: torch.Tensor = _Given.apply(scores, targets)
    return result


class _Given(torch.autograd.Function):
    @staticmethod
    def forward(context, scores, targets):
        value, gradient = losses.decoupled_softmax(scores.detach().numpy().copy(), targets)
        context.save_for_backward(torch.from_numpy(gradient))
        return scores.new_tensor(value)

    @staticmethod
    def backward(context, slope):
        return slope * context.saved_tensors[0], None
