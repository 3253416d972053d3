"""`RowTable`: a matrix of which a batch reads and changes a few rows, such as word or label vectors.

A batch's rows are gathered into a small leaf tensor. Its gradient is dense and as small, so nothing of the
matrix's full size is ever zeroed, multiplied or searched; `tailwright.training.sparse_adam` applies it.
"""

from __future__ import annotations

import numpy as np
import torch


class RowTable:
    """`weight` (rows, width) float32. Ask for rows once a batch; after the backward pass `take_gradient`."""

    def __init__(self, weight: np.ndarray) -> None:
        if weight.ndim != 2 or weight.dtype != np.float32:
            raise ValueError(f"weight must be float32 (rows, width), got {weight.dtype} {weight.shape}")
        self.weight = np.ascontiguousarray(weight)
        self.frozen = False
        self._touched: np.ndarray | None = None
        self._leaf: torch.Tensor | None = None

    def rows(self, ids: np.ndarray) -> torch.Tensor:
        """(len(ids), width): the rows at the distinct `ids`, as a leaf that collects their gradient."""
        if self._leaf is not None:
            raise RuntimeError("the rows of a table are asked for once a batch")
        leaf = torch.from_numpy(self.weight[ids])
        if not self.frozen:
            self._touched, self._leaf = ids, leaf.requires_grad_()
        return leaf

    def take_gradient(self) -> tuple[np.ndarray, np.ndarray] | None:
        """(row ids, gradient) of the batch since the last call, or None where nothing reached the table."""
        touched, leaf = self._touched, self._leaf
        self._touched = self._leaf = None
        if touched is None or leaf is None or leaf.grad is None:
            return None
        return touched, leaf.grad.numpy()
