"""Binary cross-entropy over every cluster, in blocks of clusters.

The logits of a block become their own gradient while they are still in the processor's cache, and go into the
two products of the backward pass at once. So a step costs three matrix products, and nothing as large as
batch x clusters is ever held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from tailwright.data.batch_targets import BatchTargets

CLUSTERS_A_BLOCK = 2048


def every_cluster_loss(queries: torch.Tensor, table: torch.Tensor, targets: BatchTargets) -> torch.Tensor:
    """The mean over all cells (batch, clusters) of the row's weight times softplus(s) - t s.

    queries: (batch, n), table: (clusters, n + 1), the last column of which is the bias. Ignored cells give
    neither loss nor gradient.
    """
    rows = torch.cat([queries, queries.new_ones(len(queries), 1)], 1)
    loss: torch.Tensor = _EveryCluster.apply(rows, table, targets.learnt())  # type: ignore[no-untyped-call]
    return loss


class _EveryCluster(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, rows: torch.Tensor, table: torch.Tensor, targets: BatchTargets) -> torch.Tensor:
        weights = torch.from_numpy(targets.weights)
        positives = _Cells.by_cluster(targets.rows, targets.labels)
        ignored = _Cells.by_cluster(targets.ignored_rows, targets.ignored)
        value = torch.from_numpy(targets.values)[positives.order] * weights[positives.rows]
        scale = 1 / max(len(rows) * len(table), 1)
        row_gradient, table_gradient = torch.zeros_like(rows), torch.empty_like(table)
        total = 0.0
        for start in range(0, len(table), CLUSTERS_A_BLOCK):
            block = table[start : start + CLUSTERS_A_BLOCK]
            here, barred = (cells.within(start, start + len(block)) for cells in (positives, ignored))
            logits = rows @ block.T  # (batch, block)
            at_positives = positives.rows[here], positives.clusters[here] - start
            at_ignored = ignored.rows[barred], ignored.clusters[barred] - start
            losses = functional.softplus(logits)
            losses[at_ignored] = 0
            total += float(losses.sum(1) @ weights) - float(logits[at_positives] @ value[here])
            gradient = logits.sigmoid_().mul_(weights[:, None])
            gradient[at_positives] -= value[here]
            gradient[at_ignored] = 0
            row_gradient.addmm_(gradient, block)
            torch.mm(gradient.T, rows, out=table_gradient[start : start + len(block)])
        context.save_for_backward(row_gradient.mul_(scale), table_gradient.mul_(scale))
        return torch.tensor(total * scale)

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        row_gradient, table_gradient = context.saved_tensors
        factor = float(gradients[0])
        if factor != 1:  # as it nearly always is; a pass over the table's gradient is worth leaving out
            row_gradient, table_gradient = factor * row_gradient, factor * table_gradient
        return row_gradient, table_gradient, None


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells (row, cluster), ascending by cluster."""

    rows: torch.Tensor  # (cells,) int64
    clusters: torch.Tensor  # (cells,) int64
    order: torch.Tensor  # (cells,) int64: where each stood before

    @staticmethod
    def by_cluster(rows: np.ndarray, clusters: np.ndarray) -> _Cells:
        order = np.argsort(clusters, kind="stable")
        return _Cells(*map(torch.from_numpy, (rows[order], clusters[order].astype(np.int64), order)))

    def within(self, start: int, end: int) -> slice:
        """Where the clusters start..end - 1 stand."""
        first, last = np.searchsorted(self.clusters.numpy(), [start, end])
        return slice(int(first), int(last))
