"""Losses over a block of scores (batch, block): soft targets unrounded, row weights, ignored pairs.

No dense matrix of targets is built: positives and ignored pairs are lists of places in the block. With t the
target of a pair, w the weight of its row and s its score, for a batch of n rows:

| loss | is |
|---|---|
| `binary_cross_entropy` | 1/n sum w (softplus(s) - t s) over all pairs of the block |
| `decoupled_softmax` | 1/n sum w t (log(exp(s) + sum of exp(s') of the row's negatives) - s) of positives |

A pair that is ignored is neither a positive nor a negative; its gradient is exactly zero. The softmax is
decoupled: each positive stands against the negatives alone, so that positives of one row do not push each
other down; a soft positive counts t and is no negative either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

# Far below any score, yet finite: a row whose every pair is masked must not give NaN.
_MASKED = -1e30


@dataclass(frozen=True, eq=False)
class BlockPairs:
    """Places in a (batch, block) matrix, each at most once, with a value."""

    rows: torch.Tensor  # (pairs,) int64
    columns: torch.Tensor  # (pairs,) int64
    values: torch.Tensor  # (pairs,) float32

    @staticmethod
    def of(rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> BlockPairs:
        return BlockPairs(
            torch.from_numpy(np.asarray(rows, dtype=np.int64)),
            torch.from_numpy(np.asarray(columns, dtype=np.int64)),
            torch.from_numpy(np.asarray(values, dtype=np.float32)),
        )

    def __len__(self) -> int:
        return len(self.rows)

    def without(self, others: BlockPairs, width: int) -> BlockPairs:
        """These pairs but for those that are among `others`, in a matrix of that width."""
        if not len(others):
            return self
        kept = ~torch.isin(self.rows * width + self.columns, others.rows * width + others.columns)
        return BlockPairs(self.rows[kept], self.columns[kept], self.values[kept])


def binary_cross_entropy(
    scores: torch.Tensor, positives: BlockPairs, ignored: BlockPairs, weights: torch.Tensor
) -> torch.Tensor:
    """Every pair of the block by itself: softplus over all, minus target times score over the positives."""
    positives = positives.without(ignored, scores.shape[1])
    chances = functional.softplus(_masked(scores, [ignored])).sum(1) @ weights
    value = positives.values * weights[positives.rows]
    return (chances - scores[positives.rows, positives.columns] @ value) / max(len(scores), 1)


def decoupled_softmax(
    scores: torch.Tensor,
    positives: BlockPairs,
    ignored: BlockPairs,
    weights: torch.Tensor,
    discount: torch.Tensor | None = None,
) -> torch.Tensor:
    """Each positive against the negatives of its row: those of the block that are not its positives.

    `discount` (block,) is taken off a label's score where it stands as a negative. With the logarithm of the
    label's chance to be in a block, the sum over the block stands for the sum over all labels; without it,
    frequent labels, which are in most blocks, are pushed down more than they deserve.
    """
    kept = positives.without(ignored, scores.shape[1])
    rivals = scores if discount is None else scores - discount
    negatives = torch.logsumexp(_masked(rivals, [positives, ignored]), 1)  # (batch,)
    against = functional.softplus(negatives[kept.rows] - scores[kept.rows, kept.columns])
    return against @ (kept.values * weights[kept.rows]) / max(len(scores), 1)


def _masked(scores: torch.Tensor, parts: list[BlockPairs]) -> torch.Tensor:
    """The scores with some pairs put out of reach; no gradient flows back to those."""
    rows, columns = torch.cat([p.rows for p in parts]), torch.cat([p.columns for p in parts])
    if not len(rows):
        return scores
    return scores.index_put((rows, columns), scores.new_tensor(_MASKED))
