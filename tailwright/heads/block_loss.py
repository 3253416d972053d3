"""The binary cross-entropy of a block of logits, with its gradient.

No dense matrix of targets is built. With t the target of a pair, w its weight and s its logit, the
loss is the sum of w (softplus(s) - t s) over all pairs that are not ignored, and its gradient is
w (sigmoid(s) - t): soft targets stay as they are, and the gradient of an ignored pair is exactly zero, be it
a positive or not.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from tailwright.data.batch_targets import BatchTargets
from tailwright.heads.columns import Columns
from tailwright.heads.label_factors import label_factors


class BlockLoss:
    """The cross-entropy of a batch's logits, block of columns by block."""

    def __init__(self, targets: BatchTargets, columns: Columns, device: torch.device) -> None:
        learnt = targets.learnt()
        positives = columns.find(learnt.rows, learnt.labels)
        self._positives = _Places(learnt.rows, positives, device)
        self._values = torch.from_numpy(learnt.values[self._positives.order]).to(device)
        padded_rows, padded_columns = columns.padding()
        ignored = columns.find(targets.ignored_rows, targets.ignored)
        self._ignored = _Places(
            np.concatenate([targets.ignored_rows, padded_rows]),
            np.concatenate([ignored, padded_columns]),
            device,
        )
        self._weights = torch.from_numpy(targets.weights).to(device)
        self._factors = label_factors(targets, columns, device)

    def __call__(self, logits: torch.Tensor, start: int, end: int) -> tuple[torch.Tensor, torch.Tensor]:
        """(sum, gradient) of the logits (batch, block) of the columns from `start` to `end`."""
        weights = self._weights.to(logits.dtype)
        positives, taken = self._positives.block(start, end)
        ignored, _ = self._ignored.block(start, end)
        values = self._values[taken].to(logits.dtype)
        gradient = torch.sigmoid(logits)
        gradient.index_put_(positives, -values, accumulate=True)
        gradient.mul_(weights[:, None]).index_put_(ignored, gradient.new_zeros(()))
        of_negatives = functional.softplus(logits).index_put_(ignored, logits.new_zeros(()))
        if self._factors is not None:
            factors = self._factors(start, end, logits.dtype)  # (batch, block)
            gradient.mul_(factors)
            of_negatives.mul_(factors)
            values = values * factors[positives]
        of_positives = (logits[positives] * values) @ weights[positives[0]]
        # A block's sum is exact to float32; the blocks are added in float64.
        return (of_negatives.sum(1) @ weights).double() - of_positives.double(), gradient


class _Places:
    """Places (row, column) in a batch's logits by column, without those whose column is -1."""

    def __init__(self, rows: np.ndarray, columns: np.ndarray, device: torch.device) -> None:
        kept = np.flatnonzero(columns >= 0)
        self.order = kept[np.argsort(columns[kept], kind="stable")]
        self._sorted = columns[self.order]
        self._rows = torch.from_numpy(rows[self.order]).to(device)
        self._columns = torch.from_numpy(self._sorted).to(device)

    def block(self, start: int, end: int) -> tuple[tuple[torch.Tensor, torch.Tensor], slice]:
        """(rows, columns counted from `start`) of the columns from `start` to `end`; where these stand."""
        first, last = np.searchsorted(self._sorted, [start, end])
        taken = slice(int(first), int(last))
        return (self._rows[taken], self._columns[taken] - start), taken


def sum_dtype(dtype: torch.dtype) -> torch.dtype:
    """What sums are kept in: float32, or float64 where that is given."""
    return torch.promote_types(dtype, torch.float32)
