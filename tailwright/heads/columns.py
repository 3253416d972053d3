"""Columns: which labels the scores of a batch are for, and where the rows of label tables belong to them.

| candidates | the columns of a batch's scores are |
|---|---|
| none | all labels, in order |
| (block,) | these labels, the same for every row |
| (batch, width) | each row's own labels, -1 where its list is padded |

Candidates are row numbers of the tables that a head holds, so a head over some rows of a large table takes
places among those rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch


class Columns:
    """The columns of the scores of `rows` texts against tables of that many `labels`."""

    def __init__(self, rows: int, labels: int, candidates: torch.Tensor | None = None) -> None:
        if candidates is not None:
            _check(candidates, rows, labels)
        self.rows, self.labels, self.candidates = rows, labels, candidates

    @property
    def own(self) -> bool:
        """Whether each row has a list of its own."""
        return self.candidates is not None and self.candidates.dim() == 2

    @property
    def count(self) -> int:
        return self.labels if self.candidates is None else int(self.candidates.shape[-1])

    @property
    def pairs(self) -> int:
        """Scores of the batch, the padding of lists left out."""
        if self.candidates is None or not self.own:
            return self.rows * self.count
        return int((self.candidates >= 0).sum())

    def blocks(self, width: int) -> Iterator[tuple[int, int]]:
        """(start, end) of blocks of at most `width` columns."""
        for start in range(0, self.count, width):
            yield start, min(start + width, self.count)

    def take(self, table: torch.Tensor, start: int, end: int) -> torch.Tensor:
        """The table's rows for a block: (block, ...), or (batch, block, ...) where each row has its own.

        Padding gets the first row; what is made of it must be given no slope.
        """
        if self.candidates is None:
            return table[start:end]
        return table[self.candidates[..., start:end].clamp(min=0)]

    def put(self, gradient: torch.Tensor, start: int, end: int, slopes: torch.Tensor, scale: float) -> None:
        """`scale` times the slopes of what `take` gave, into the gradient of the table, each block once."""
        slopes = slopes.to(gradient.dtype)  # before they are scaled, which might be too small for float16
        if self.candidates is None:
            torch.mul(slopes, scale, out=gradient[start:end])
            return
        places = self.candidates[..., start:end].clamp(min=0)
        flat = slopes.reshape(places.numel(), *slopes.shape[places.dim() :])
        gradient.index_add_(0, places.reshape(-1), flat, alpha=scale)

    def find(self, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """(pairs,) the column of each (row, label), -1 where it has none."""
        if self.candidates is None:
            return labels
        keys, wanted = self.candidates.reshape(-1), labels
        if self.own:
            shift = torch.arange(self.rows, device=keys.device) * self.labels
            keys = torch.where(self.candidates >= 0, self.candidates + shift[:, None], -1).reshape(-1)
            wanted = labels + rows * self.labels
        if not len(keys):
            return torch.full_like(labels, -1)
        ordered, order = keys.sort()
        near = torch.searchsorted(ordered, wanted).clamp(max=len(keys) - 1)
        found = order[near] % max(self.count, 1) if self.own else order[near]
        return torch.where(ordered[near] == wanted, found, -1)

    def padding(self) -> tuple[torch.Tensor, torch.Tensor]:
        """(rows, columns) where lists are padded."""
        if self.candidates is None or not self.own:
            none = torch.empty(0, dtype=torch.int64)
            return none, none
        rows, columns = torch.nonzero(self.candidates < 0, as_tuple=True)
        return rows, columns


def _check(candidates: torch.Tensor, rows: int, labels: int) -> None:
    if candidates.dtype != torch.int64 or candidates.dim() not in (1, 2):
        raise ValueError(
            f"candidates must be int64 (block,) or (batch, width), got {candidates.dtype} "
            f"{tuple(candidates.shape)}"
        )
    if candidates.dim() == 2 and len(candidates) != rows:
        raise ValueError(f"candidates has {len(candidates)} rows, expected {rows}")
    if not candidates.numel():
        return
    least = -1 if candidates.dim() == 2 else 0
    if int(candidates.min()) < least or int(candidates.max()) >= labels:
        raise ValueError(f"candidates must be in {least}..{labels - 1}")
    ordered = candidates.sort(-1).values
    if bool(((ordered[..., 1:] == ordered[..., :-1]) & (ordered[..., 1:] >= 0)).any()):
        raise ValueError("candidates names a label twice in a list")
