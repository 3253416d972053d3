"""`Columns`: which labels the logits of a batch are of, and where they stand in the tables of labels.

| candidates | the columns of a batch's logits are |
|---|---|
| none | all labels, in order |
| (columns,) | these labels, the same for every row |
| (rows, columns) | each row's list of labels, -1 where it is padded |
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import torch


class Columns:
    """The columns of the logits of `rows` texts over tables that have a row for each of `labels` labels."""

    def __init__(
        self,
        rows: int,
        labels: int,
        candidates: np.ndarray | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.rows, self.labels, self.candidates = rows, labels, candidates
        self.per_row = candidates is not None and candidates.ndim == 2
        self.count = labels if candidates is None else candidates.shape[-1]
        self._table_rows: torch.Tensor | None = None
        if candidates is not None:
            self._table_rows = torch.from_numpy(np.maximum(candidates, 0)).to(device)

    @property
    def pairs(self) -> int:
        """The number of the batch's logits, without the padding of lists."""
        if self.candidates is None or not self.per_row:
            return self.rows * self.count
        return int((self.candidates >= 0).sum())

    def blocks(self, size: int) -> Iterator[tuple[int, int]]:
        """(start, end) of blocks of at most `size` columns."""
        for start in range(0, self.count, size):
            yield start, min(start + size, self.count)

    def take(self, table: torch.Tensor, start: int, end: int) -> torch.Tensor:
        """The table's rows for a block: (block, ...), or (rows, block, ...) for lists of each row.

        Padding gets the first row; its logits must be given no gradient.
        """
        if self._table_rows is None:
            return table[start:end]
        places = self._table_rows[..., start:end]
        if not len(table):  # all is padding
            return table.new_zeros(*places.shape, *table.shape[1:])
        return table[places]

    def put(self, total: torch.Tensor, start: int, end: int, gradient: torch.Tensor, scale: float) -> None:
        """Add `scale` times the gradient of what `take` gave to that of the table, once for each block."""
        gradient = gradient.to(total.dtype)  # before it is scaled, which might be too small for float16
        if self._table_rows is None:
            torch.mul(gradient, scale, out=total[start:end])
            return
        if not len(total):
            return
        places = self._table_rows[..., start:end]
        flat = gradient.reshape(places.numel(), *gradient.shape[places.dim() :])
        total.index_add_(0, places.reshape(-1), flat, alpha=scale)

    def find(self, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """(pairs,) int64: the column of each (row, label), -1 where it has none."""
        labels = labels.astype(np.int64)
        if self.candidates is None:
            return labels
        if not self.candidates.size:
            return np.full_like(labels, -1)
        keys, order = self._sorted_keys
        wanted = labels + rows * self.labels if self.per_row else labels
        near = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[near] == wanted, order[near] % self.count, -1)

    @cached_property
    def _sorted_keys(self) -> tuple[np.ndarray, np.ndarray]:
        """The candidates, each row's shifted to a range of its own, in ascending order; and that order."""
        assert self.candidates is not None
        keys = self.candidates
        if self.per_row:
            keys = np.where(keys >= 0, keys + np.arange(self.rows)[:, None] * self.labels, -1)
        order = np.argsort(keys, axis=None)
        return keys.reshape(-1)[order], order

    def padding(self) -> tuple[np.ndarray, np.ndarray]:
        """(rows, columns) where lists are padded."""
        if self.candidates is None or not self.per_row:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        rows, columns = np.nonzero(self.candidates < 0)
        return rows, columns


def check_candidates(candidates: np.ndarray, rows: int, labels: int) -> None:
    """Raise ValueError unless these are candidates of so many rows among so many labels."""
    if candidates.dtype != np.int64 or candidates.ndim not in (1, 2):
        raise ValueError(
            f"candidates must be int64 (columns,) or (rows, columns), got {candidates.dtype} "
            f"{candidates.shape}"
        )
    if candidates.ndim == 2 and len(candidates) != rows:
        raise ValueError(f"candidates has {len(candidates)} rows, expected {rows}")
    if not candidates.size:
        return
    least = -1 if candidates.ndim == 2 else 0
    if candidates.min() < least or candidates.max() >= labels:
        raise ValueError(f"candidates must be in {least}..{labels - 1}")
    ordered = np.sort(candidates, axis=-1)
    if ((ordered[..., 1:] == ordered[..., :-1]) & (ordered[..., 1:] >= 0)).any():
        raise ValueError("candidates names a label twice in a list")
