"""A vector and a bias for each label, scored and trained on the candidates of each row alone.

A row's candidates are its positives, the labels of its shortlist and labels drawn at random. The loss is the
binary cross-entropy summed over the candidates, times their weight, divided by the rows of the batch. Its
gradients are made along with it, in one pass over the labels of the batch: nothing of the size of pairs x
width is ever held.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from tailwright.data.batch_targets import BatchTargets, rows_of
from tailwright.encoders.row_table import RowTable
from tailwright.heads.block_pass import LossWithGradients
from tailwright.kernels.csr import number_locally, transposed
from tailwright.kernels.shortlist import candidate_lists, candidate_pass, pair_scores
from tailwright.streams import stream

# Of the labels of a batch: enough for many threads, few enough to hold a gradient of the queries for each.
BLOCKS = 16


@dataclass(frozen=True, eq=False)
class CandidateLists:
    """The labels that each row of a batch is trained on, with their targets, as CSR."""

    starts: np.ndarray  # (batch + 1,) int64
    labels: np.ndarray  # (pairs,) int32
    targets: np.ndarray  # (pairs,) float32
    weights: np.ndarray  # (batch,) float32
    factors: np.ndarray | None = None  # (pairs,) float32: those of label weights; None: all are 1


class CandidateHead(nn.Module):
    """The classifiers of labels, w x + b each; only those that a batch asks for are read and learn."""

    def __init__(self, table: np.ndarray) -> None:
        """`table` (labels, width + 1) float32: vectors, and biases in the last column."""
        super().__init__()
        self.table = RowTable(table)
        self._scratch = np.full(len(table), -1, dtype=np.int32)

    def forward(self, queries: torch.Tensor, candidates: CandidateLists) -> torch.Tensor:
        """The loss of `queries` (batch, width)."""
        labels, places = number_locally(candidates.labels, self._scratch)
        rows = torch.cat([queries, queries.new_ones(len(queries), 1)], 1)
        return candidate_loss(rows, self.table(labels), replace(candidates, labels=places))

    def scores(self, queries: np.ndarray, lists: np.ndarray) -> np.ndarray:
        """(rows, listed): the logits of the listed labels, minus infinity where a list is padded."""
        rows = np.concatenate([queries, np.ones((len(queries), 1), np.float32)], 1)
        return list_scores(rows, lists, self.table.array)


def list_scores(rows: np.ndarray, lists: np.ndarray, table: np.ndarray) -> np.ndarray:
    """(rows, listed) float32: `rows` (rows, n) times the `table`'s (labels, n) of each row's list.

    Minus infinity where a list is padded.
    """
    listed = lists >= 0
    starts = np.concatenate([[0], np.cumsum(listed.sum(axis=1), dtype=np.int64)])
    logits = np.empty(int(starts[-1]), dtype=np.float32)
    pair_scores(starts, lists[listed], rows, table, logits)
    scores = np.full(lists.shape, -np.inf, dtype=np.float32)
    scores[listed] = logits
    return scores


class CandidateDrawer:
    """Draws candidates: up to `positives` positives of a row, its shortlist, labels at random, `size` in all.

    Random labels are drawn among those in `carried`.
    """

    def __init__(self, carried: np.ndarray, labels: int, *, size: int, positives: int, random: int) -> None:
        self.carried, self.labels = carried.astype(np.int32), labels
        self.size, self.positives, self.random = size, positives, random

    def random_labels(self, rows: int, random: np.random.Generator) -> np.ndarray:
        """(rows, `random`) int32."""
        if not len(self.carried):
            return np.empty((rows, 0), dtype=np.int32)
        return self.carried[random.integers(0, len(self.carried), (rows, self.random))]

    def __call__(
        self,
        targets: BatchTargets,
        shortlists: np.ndarray,
        random_labels: np.ndarray,
        random: np.random.Generator,
    ) -> CandidateLists:
        """The candidates of a batch, from `shortlists` (batch, listed) and `random_labels` (batch, drawn)."""
        starts, labels, values = candidate_lists(
            targets.starts,
            targets.labels,
            targets.values,
            random.random(len(targets.labels)),
            self.positives,
            shortlists,
            random_labels,
            targets.ignored_starts,
            targets.ignored,
            self.size,
            self.labels,
        )
        factors = None
        if targets.label_weights is not None:
            factors = targets.label_factors(rows_of(starts), labels)
        return CandidateLists(starts, labels, values, targets.weights, factors)


def vectors_and_biases(labels: int, width: int, seed: int, name: str) -> np.ndarray:
    """(labels, width + 1) float32: uniform up to 1 / root of the width; `name` is the stream."""
    drawn = stream(seed, name).random((labels, width + 1), dtype=np.float32)
    return (2 * drawn - 1) / np.float32(width**0.5)


def candidate_loss(rows: torch.Tensor, table: torch.Tensor, candidates: CandidateLists) -> torch.Tensor:
    """The loss of `rows` (batch, n), whose candidates are places in `table` (labels, n)."""
    loss: torch.Tensor = _CandidateLoss.apply(candidates, rows, table)  # type: ignore[no-untyped-call]
    return loss


class _CandidateLoss(LossWithGradients):
    @staticmethod
    def forward(
        context: Any, candidates: CandidateLists, rows: torch.Tensor, table: torch.Tensor
    ) -> torch.Tensor:
        by_label = transposed(candidates.starts, candidates.labels, candidates.targets, len(table))
        factors = np.empty(0, dtype=np.float32)
        if candidates.factors is not None:
            factors = transposed(candidates.starts, candidates.labels, candidates.factors, len(table))[2]
        row_gradients = np.zeros((BLOCKS, *rows.shape), dtype=np.float32)
        table_gradient = np.zeros(tuple(table.shape), dtype=np.float32)
        weights = candidates.weights / np.float32(max(len(rows), 1))
        tensors = rows.detach().numpy(), table.detach().numpy()
        loss = candidate_pass(*by_label, weights, factors, *tensors, row_gradients, table_gradient)
        context.save_for_backward(torch.from_numpy(row_gradients).sum(0), torch.from_numpy(table_gradient))
        return torch.tensor(loss, dtype=torch.float32)
