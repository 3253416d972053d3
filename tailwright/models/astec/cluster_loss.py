"""Binary cross-entropy over every cluster, in chunks of clusters.

The scores of a chunk become their own gradient while they are still in the processor's cache, and go into the
two products of the backward pass at once. So a step costs three matrix products, and nothing as large as
batch x clusters is ever held.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional

from tailwright.training.losses import BlockPairs

CLUSTERS_A_CHUNK = 2048


def every_cluster_loss(
    queries: torch.Tensor,
    table: torch.Tensor,
    positives: BlockPairs,
    ignored: BlockPairs,
    weights: torch.Tensor,
) -> torch.Tensor:
    """The mean over all cells (batch, clusters) of the row's weight times softplus(s) - t s.

    queries: (batch, n), table: (clusters, n + 1), the last column of which is the bias. Ignored cells give
    neither loss nor gradient, and are no positives.
    """
    rows = torch.cat([queries, queries.new_ones(len(queries), 1)], 1)
    positives = positives.without(ignored, len(table))
    loss: torch.Tensor = _EveryCluster.apply(rows, table, positives, ignored, weights)  # type: ignore[no-untyped-call]
    return loss


class _EveryCluster(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any,
        rows: torch.Tensor,
        table: torch.Tensor,
        positives: BlockPairs,
        ignored: BlockPairs,
        weights: torch.Tensor,
    ) -> torch.Tensor:
        positives, ignored = _by_column(positives), _by_column(ignored)
        scale = 1 / max(len(rows) * len(table), 1)
        row_slopes, table_slopes = torch.zeros_like(rows), torch.empty_like(table)
        value = positives.values * weights[positives.rows]
        total = 0.0
        for start in range(0, len(table), CLUSTERS_A_CHUNK):
            chunk = table[start : start + CLUSTERS_A_CHUNK]
            hot, cold = (_within(pairs, start, start + len(chunk)) for pairs in (positives, ignored))
            scores = rows @ chunk.T  # (batch, chunk)
            at_hot = positives.rows[hot], positives.columns[hot] - start
            at_cold = ignored.rows[cold], ignored.columns[cold] - start
            losses = functional.softplus(scores)
            losses[at_cold] = 0
            total += float(losses.sum(1) @ weights) - float(scores[at_hot] @ value[hot])
            slopes = scores.sigmoid_().mul_(weights[:, None])
            slopes[at_hot] -= value[hot]
            slopes[at_cold] = 0
            row_slopes.addmm_(slopes, chunk)
            torch.mm(slopes.T, rows, out=table_slopes[start : start + len(chunk)])
        context.save_for_backward(row_slopes.mul_(scale), table_slopes.mul_(scale))
        return torch.tensor(total * scale)

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        row_slopes, table_slopes = context.saved_tensors
        factor = float(gradients[0])
        if factor != 1:  # as it nearly always is; a pass over the table's slopes is worth leaving out
            row_slopes, table_slopes = factor * row_slopes, factor * table_slopes
        return row_slopes, table_slopes, None, None, None


def _by_column(pairs: BlockPairs) -> BlockPairs:
    order = torch.argsort(pairs.columns, stable=True)
    return BlockPairs(pairs.rows[order], pairs.columns[order], pairs.values[order])


def _within(pairs: BlockPairs, start: int, end: int) -> slice:
    """Where the columns start..end-1 stand among pairs that are sorted by column."""
    first, last = np.searchsorted(pairs.columns.numpy(), [start, end])
    return slice(int(first), int(last))
