"""`RowTable`: a matrix of which a batch reads and changes a few rows, such as word or label vectors.

A batch's rows are gathered into a small leaf tensor. Its gradient is dense and as small, so nothing of the
matrix's full size is ever zeroed, multiplied or searched; `tailwright.training.sparse_adam` applies it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from tailwright.encoders.row_gradients import RowGradient, added_rows


class RowTable(nn.Module):
    """`weight` (rows, width) float32. Every pass asks for rows; after the backward pass `take_gradient`.

    The table stays on the CPU wherever the network is moved to; the rows of a batch are moved instead.
    """

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__()
        if weight.ndim != 2 or weight.dtype != np.float32:
            raise ValueError(f"weight must be float32 (rows, width), got {weight.dtype} {weight.shape}")
        # Without a gradient of its own: that of the batch's rows is collected here instead.
        self.weight = nn.Parameter(torch.from_numpy(np.ascontiguousarray(weight)), requires_grad=False)
        self.frozen = False
        self._asked: list[tuple[np.ndarray, torch.Tensor]] = []

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def array(self) -> np.ndarray:
        """(rows, width) float32: the weights, which share their memory."""
        return self.weight.detach().numpy()

    def forward(self, ids: np.ndarray) -> torch.Tensor:
        """(len(ids), width): the rows at the distinct `ids`; in training, a leaf that collects a gradient."""
        leaf = torch.from_numpy(self.array.take(ids, axis=0))
        if not self.training or self.frozen or not torch.is_grad_enabled():
            return leaf
        self._asked.append((ids, leaf.requires_grad_()))
        return leaf

    def take_gradient(self) -> RowGradient | None:
        """The gradient of all passes since the last call, None where none reached the table."""
        asked, self._asked = self._asked, []
        return added_rows([(ids, leaf.grad.numpy()) for ids, leaf in asked if leaf.grad is not None])

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> RowTable:
        return self
