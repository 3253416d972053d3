"""The targets of a batch, and their binary cross-entropy over a block of its scores, slopes included.

No dense matrix of targets is built. With t the target of a pair, w the weight of its row and s its score, the
loss is the sum of w (softplus(s) - t s) over all pairs that are not ignored, and its slope is
w (sigmoid(s) - t): soft targets stay as they are, and an ignored pair has exactly no slope, be it a positive
or not. `training.losses` has the same sum as an operation on a graph; this form is for heads that are done
with a block of labels before the next begins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from tailwright.data.dataset import Dataset
from tailwright.data.pairs import csr_parts
from tailwright.heads.columns import Columns
from tailwright.kernels.bags import gather_rows


@dataclass(frozen=True, eq=False)
class BatchTargets:
    """The labels of each row of a batch, as CSR; a pair is stored once. Candidates need not hold them all."""

    ends: torch.Tensor  # (batch + 1,) int64: where each row's labels start
    labels: torch.Tensor  # (pairs,) int64
    values: torch.Tensor  # (pairs,) float32 in (0, 1]
    weights: torch.Tensor  # (batch,) float32: what a row's loss is multiplied with
    ignored_ends: torch.Tensor  # (batch + 1,) int64
    ignored: torch.Tensor  # (ignored pairs,) int64: labels

    def __post_init__(self) -> None:
        rows = len(self.weights)
        for name, ends, labels in (
            ("labels", self.ends, self.labels),
            ("ignored", self.ignored_ends, self.ignored),
        ):
            if len(ends) != rows + 1 or int(ends[-1]) != len(labels):
                raise ValueError(f"{name} must be CSR parts of {rows} rows, got {len(ends) - 1}")
        if len(self.values) != len(self.labels):
            raise ValueError(f"values must be as many as labels, {len(self.labels)}, got {len(self.values)}")

    @staticmethod
    def of(
        positives: tuple[np.ndarray, np.ndarray, np.ndarray],
        weights: np.ndarray | None = None,
        ignored: tuple[np.ndarray, np.ndarray] | None = None,
        device: torch.device | str = "cpu",
    ) -> BatchTargets:
        """From (indptr, labels, values), the rows' weights and (indptr, labels) of ignored pairs."""
        ends, labels, values = positives
        rows = len(ends) - 1
        if weights is None:
            weights = np.ones(rows, dtype=np.float32)
        if ignored is None:
            ignored = np.zeros(rows + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
        whole = [torch.from_numpy(np.array(part, dtype=np.int64)) for part in (ends, labels, *ignored)]
        real = [torch.from_numpy(np.array(part, dtype=np.float32)) for part in (values, weights)]
        ends_, labels_, ignored_ends, ignored_ = (part.to(device) for part in whole)
        return BatchTargets(ends_, labels_, real[0].to(device), real[1].to(device), ignored_ends, ignored_)

    def __len__(self) -> int:
        return len(self.weights)


class TargetRows:
    """The targets, weights and ignored pairs of a dataset, by batch."""

    def __init__(self, data: Dataset, device: torch.device | str = "cpu") -> None:
        self._targets, self._ignored = csr_parts(data.targets), csr_parts(data.ignored)
        self._weights, self._device = data.weights, device

    def __call__(self, rows: np.ndarray) -> BatchTargets:
        """Those of the rows at these places."""
        ends, labels, _ = gather_rows(*self._ignored, rows)
        positives = gather_rows(*self._targets, rows)
        return BatchTargets.of(positives, self._weights[rows], (ends, labels), self._device)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Places in the (batch, columns) scores, by column."""

    rows: torch.Tensor
    columns: torch.Tensor
    values: torch.Tensor

    @staticmethod
    def by_column(rows: torch.Tensor, columns: torch.Tensor, values: torch.Tensor) -> _Pairs:
        kept = columns >= 0
        order = columns[kept].argsort(stable=True)
        return _Pairs(rows[kept][order], columns[kept][order], values[kept][order])

    def block(self, start: int, end: int) -> _Pairs:
        """Those of the columns from `start` to `end`, counted from `start`."""
        edges = torch.tensor([start, end], device=self.columns.device)
        first, last = torch.searchsorted(self.columns, edges).tolist()
        return _Pairs(self.rows[first:last], self.columns[first:last] - start, self.values[first:last])


class BlockLoss:
    """The cross-entropy of a batch's scores, block of columns by block."""

    def __init__(self, targets: BatchTargets, columns: Columns) -> None:
        if len(targets) != columns.rows:
            raise ValueError(f"there are {columns.rows} texts and the targets of {len(targets)}")
        for labels in (targets.labels, targets.ignored):
            if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < columns.labels:
                raise ValueError(f"labels of targets must be in 0..{columns.labels - 1}")
        rows, skipped = _rows_of(targets.ends), _rows_of(targets.ignored_ends)
        # A positive that is ignored leaves here, so that the blocks need not look for it.
        there = torch.isin(
            rows * columns.labels + targets.labels, skipped * columns.labels + targets.ignored, invert=True
        )
        rows, labels = rows[there], targets.labels[there]
        self._positives = _Pairs.by_column(rows, columns.find(rows, labels), targets.values[there])
        empty_rows, empty_columns = columns.padding()
        device = targets.weights.device
        skipped_columns = torch.cat(
            [columns.find(skipped, targets.ignored), empty_columns.to(device)],
        )
        skipped = torch.cat([skipped, empty_rows.to(device)])
        self._ignored = _Pairs.by_column(skipped, skipped_columns, skipped.new_zeros(len(skipped)))
        self._weights = targets.weights

    def __call__(self, scores: torch.Tensor, start: int, end: int) -> tuple[torch.Tensor, torch.Tensor]:
        """(sum, slopes) of the scores (batch, block) of the columns from `start` to `end`."""
        weights = self._weights.to(scores.dtype)
        positives, ignored = self._positives.block(start, end), self._ignored.block(start, end)
        places, barred = (positives.rows, positives.columns), (ignored.rows, ignored.columns)
        values = positives.values.to(scores.dtype)
        slopes = torch.sigmoid(scores)
        slopes.index_put_(places, -values, accumulate=True)
        slopes.mul_(weights[:, None]).index_put_(barred, slopes.new_zeros(()))
        chances = functional.softplus(scores).index_put_(barred, scores.new_zeros(()))
        reached = (scores[places] * values) @ weights[positives.rows]
        # A block's sum is exact to float32; the blocks are added in float64.
        return (chances.sum(1) @ weights).double() - reached.double(), slopes


def _rows_of(ends: torch.Tensor) -> torch.Tensor:
    rows = torch.arange(len(ends) - 1, device=ends.device)
    return torch.repeat_interleave(rows, ends.diff())
