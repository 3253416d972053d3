"""One classifier for each cluster of labels, all of them trained on every row.

The loss is the mean binary cross-entropy over all cells (batch, clusters). It is computed in blocks of
clusters: the logits of a block become their own gradient while they are still in the processor's cache, and
go into the two products of the backward pass at once. So a step costs three matrix products, and nothing of
the size of batch x clusters is ever held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tailwright.data.batch_targets import BatchTargets
from tailwright.encoders.row_table import RowTable
from tailwright.heads.block_pass import LossWithGradients
from tailwright.heads.columns import Columns
from tailwright.heads.label_factors import label_factors

CLUSTERS_A_BLOCK = 2048


class ClusterHead(nn.Module):
    """The classifiers of clusters, w x + b each."""

    def __init__(self, table: np.ndarray) -> None:
        """`table` (clusters, width + 1) float32: vectors, and biases in the last column."""
        super().__init__()
        self.table = RowTable(table)

    def forward(
        self, queries: torch.Tensor, targets: BatchTargets, logits: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The loss of `queries` (batch, width); the labels of `targets` are clusters.

        `logits` (batch, clusters), if given, is filled with what the loss is of.
        """
        return cluster_loss(*self.scored(queries), targets, logits)

    def scored(self, queries: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(batch, width + 1) and (clusters, width + 1), whose products are the logits."""
        rows = torch.cat([queries, queries.new_ones(len(queries), 1)], 1)
        return rows, self.table(np.arange(len(self.table)))

    @torch.no_grad()
    def logits(self, queries: torch.Tensor) -> torch.Tensor:
        """(batch, clusters), without a graph."""
        return queries @ self.table.weight[:, :-1].T + self.table.weight[:, -1]


def cluster_loss(
    rows: torch.Tensor, table: torch.Tensor, targets: BatchTargets, filled: torch.Tensor | None = None
) -> torch.Tensor:
    """The mean over all cells (batch, clusters) of the cell's weight times softplus(s) - t s.

    s = rows @ table.T are the logits: rows (batch, n), table (clusters, n). Ignored cells give neither loss
    nor gradient. `filled` (batch, clusters) takes the logits.
    """
    loss: torch.Tensor = _ClusterLoss.apply(targets.learnt(), filled, rows, table)  # type: ignore[no-untyped-call]
    return loss


class _ClusterLoss(LossWithGradients):
    @staticmethod
    def forward(
        context: Any,
        targets: BatchTargets,
        filled: torch.Tensor | None,
        rows: torch.Tensor,
        table: torch.Tensor,
    ) -> torch.Tensor:
        weights = torch.from_numpy(targets.weights)
        positives = _Cells.by_cluster(targets.rows, targets.labels)
        ignored = _Cells.by_cluster(targets.ignored_rows, targets.ignored)
        value = torch.from_numpy(targets.values * targets.pair_weights(targets.rows, targets.labels))
        value = value[positives.order]
        factors_of = label_factors(targets, Columns(len(rows), len(table)), rows.device)
        scale = 1 / max(len(rows) * len(table), 1)
        row_gradient, table_gradient = torch.zeros_like(rows), torch.empty_like(table)
        total = 0.0
        for start in range(0, len(table), CLUSTERS_A_BLOCK):
            block = table[start : start + CLUSTERS_A_BLOCK]
            learnt, silent = (cells.within(start, start + len(block)) for cells in (positives, ignored))
            logits = rows @ block.T  # (batch, block)
            if filled is not None:
                filled[:, start : start + len(block)] = logits
            at_positives = positives.rows[learnt], positives.clusters[learnt] - start
            at_ignored = ignored.rows[silent], ignored.clusters[silent] - start
            losses = functional.softplus(logits)
            losses[at_ignored] = 0
            factors = None if factors_of is None else factors_of(start, start + len(block), logits.dtype)
            if factors is not None:
                losses.mul_(factors)
            total += float(losses.sum(1) @ weights) - float(logits[at_positives] @ value[learnt])
            gradient = logits.sigmoid_().mul_(weights[:, None])
            if factors is not None:
                gradient.mul_(factors)
            gradient[at_positives] -= value[learnt]
            gradient[at_ignored] = 0
            row_gradient.addmm_(gradient, block)
            torch.mm(gradient.T, rows, out=table_gradient[start : start + len(block)])
        context.save_for_backward(row_gradient.mul_(scale), table_gradient.mul_(scale))
        return torch.tensor(total * scale)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells (row, cluster), ascending by cluster."""

    rows: torch.Tensor  # (cells,) int64
    clusters: torch.Tensor  # (cells,) int64
    order: torch.Tensor  # (cells,) int64: the place of each before sorting

    @staticmethod
    def by_cluster(rows: np.ndarray, clusters: np.ndarray) -> _Cells:
        order = np.argsort(clusters, kind="stable")
        return _Cells(*map(torch.from_numpy, (rows[order], clusters[order].astype(np.int64), order)))

    def within(self, start: int, end: int) -> slice:
        """The places of the clusters from `start` up to `end`."""
        first, last = np.searchsorted(self.clusters.numpy(), [start, end])
        return slice(int(first), int(last))
