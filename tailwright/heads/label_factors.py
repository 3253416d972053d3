"""The factors that label weights put on the pairs of a batch, a block of columns at a time."""

from __future__ import annotations

import torch

from tailwright.data.batch_targets import BatchTargets
from tailwright.heads.columns import Columns


class LabelFactors:
    """Those of targets that have label weights; 1 in the rows that are not made."""

    def __init__(self, targets: BatchTargets, columns: Columns, device: torch.device) -> None:
        assert targets.label_weights is not None
        assert targets.made is not None
        self._columns = columns
        self._weights = torch.from_numpy(targets.label_weights).to(device)
        self._made = torch.from_numpy(targets.made).to(device)[:, None]  # (batch, 1)

    def __call__(self, start: int, end: int, dtype: torch.dtype) -> torch.Tensor:
        """(batch, block): the factor on the loss of each pair of the columns from `start` to `end`."""
        weights = self._columns.take(self._weights, start, end)  # (block,) or (batch, block)
        return ((1 - self._made) + self._made * weights).to(dtype)


def label_factors(targets: BatchTargets, columns: Columns, device: torch.device) -> LabelFactors | None:
    """Those of a batch; None without label weights."""
    return None if targets.label_weights is None else LabelFactors(targets, columns, device)
