"""Shortlists: the few labels of each text that a classifier scores, and how scored lists are put together.

A text's shortlist comes from two searches among frozen vectors: for label centroids near to it, and for
training points near to it, which vote for their labels. The classifier then scores the listed labels alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numba import get_num_threads
from scipy import sparse
from scipy.special import expit

from tailwright.data.pairs import csr_parts
from tailwright.evaluation.ranking import TopK
from tailwright.heads.centroids import label_centroids
from tailwright.heads.nearest import GraphShape, Method, Neighbours
from tailwright.kernels.csr import transposed
from tailwright.kernels.shortlist import add_lists, candidate_pass, pair_scores, point_votes

ROWS_A_BLOCK = 4096
# Of the labels in the loss of candidates: enough for many threads, few enough to hold slopes for each.
BLOCKS = 16
# The graph of training points may be coarser than that of centroids: their votes weigh little.
POINT_GRAPH = GraphShape(links=50, build=50, search=100)


@dataclass(frozen=True)
class ShortlistSettings:
    """How shortlists are made.

    | setting | meaning |
    |---|---|
    | `size` | labels of a list |
    | `centroids`, `points` | nearest centroids and nearest training points looked at; 0 points: no votes |
    | `point_labels` | labels kept of the votes |
    | `point_weight` | of a vote beside a centroid's similarity, which weighs 1 minus this |
    | `head_centroids`, `head_points` | so many more centroids for a label on so many points or more |
    | `search` | "exact", "hnsw" or "auto", see `tailwright.heads.nearest` |
    """

    size: int = 500
    centroids: int = 400
    points: int = 100
    point_labels: int = 400
    point_weight: float = 0.075
    head_centroids: int = 1
    head_points: int = 7500
    search: Method = "auto"

    def __post_init__(self) -> None:
        for name in ("size", "centroids", "point_labels", "head_centroids", "head_points"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        if self.points < 0:
            raise ValueError(f"points must be >= 0, got {self.points}")
        if not 0 <= self.point_weight <= 1:
            raise ValueError(f"point_weight must be in [0, 1], got {self.point_weight}")


class Shortlister:
    """Lists labels for vectors, from the `vectors` (points, width) of training points and their labels.

    `targets` (points, labels) weigh a point's vote and its part in a label's centroid. A label that no point
    carries is in no list.
    """

    def __init__(
        self, vectors: np.ndarray, targets: sparse.csr_array, settings: ShortlistSettings, seed: int = 0
    ) -> None:
        self.settings, self.labels = settings, int(targets.shape[1])
        self.targets = targets
        centroids = label_centroids(
            vectors,
            targets,
            several=settings.head_centroids,
            from_points=settings.head_points,
            seed=seed,
        )
        self.owners = centroids.owners
        self._repeats = len(np.unique(self.owners)) < len(self.owners)
        self._centroids = Neighbours(centroids.vectors, settings.search)
        self._points = Neighbours(vectors, settings.search, POINT_GRAPH) if settings.points else None

    def lists(self, queries: np.ndarray) -> TopK:
        """The labels of each query, best first, with the merged similarity."""
        chosen, found = self.settings, [_padding(0, self.settings.size)]
        for start in range(0, len(queries), ROWS_A_BLOCK):
            block = queries[start : start + ROWS_A_BLOCK]
            lists, weights = [self._near_centroids(block)], [1.0]
            if self._points is not None:
                lists.append(self._votes(self._points.search(block, chosen.points)))
                weights = [1 - chosen.point_weight, chosen.point_weight]
            found.append(added(lists, weights, self.labels, chosen.size))
        return TopK.concat(found)

    def _near_centroids(self, queries: np.ndarray) -> TopK:
        top = self._centroids.search(queries, self.settings.centroids)
        ids = np.where(top.ids >= 0, self.owners[top.ids] if len(self.owners) else -1, -1).astype(np.int32)
        if self._repeats:
            # Best first, so the first of a label's centroids is its nearest; the others go.
            order = np.argsort(ids, axis=1, kind="stable")
            sorted_ids = np.take_along_axis(ids, order, axis=1)
            again = np.zeros(ids.shape, dtype=bool)
            np.put_along_axis(again, order[:, 1:], sorted_ids[:, 1:] == sorted_ids[:, :-1], axis=1)
            ids = np.where(again, -1, ids)
        return TopK(ids, np.where(ids >= 0, top.scores, -np.inf))

    def _votes(self, near: TopK) -> TopK:
        top = _padding(len(near), self.settings.point_labels)
        parts, threads = csr_parts(self.targets), get_num_threads()
        point_votes(near.ids, near.scores, *parts, self.labels, threads, top.ids, top.scores)
        return top


def added(lists: Sequence[TopK], weights: Sequence[float], labels: int, k: int) -> TopK:
    """The weighted sum of lists over the same rows, zero where a list lacks a label; the k best a row."""
    width = max(top.k for top in lists)
    ids = np.full((len(lists), len(lists[0]), width), -1, dtype=np.int32)
    values = np.zeros(ids.shape, dtype=np.float32)
    for place, top in enumerate(lists):
        ids[place, :, : top.k] = top.ids
        values[place, :, : top.k] = top.scores
    best = _padding(len(lists[0]), k)
    weighing = np.array(weights, dtype=np.float32)
    add_lists(ids, values, weighing, labels, get_num_threads(), best.ids, best.scores)
    return best


def scored(lists: np.ndarray, queries: np.ndarray, table: np.ndarray) -> np.ndarray:
    """(rows, width): the scores of the listed labels, minus infinity where a list is padded.

    `queries` (rows, n) and `table` (labels, n + 1), the last column of which is the bias.
    """
    real = lists >= 0
    indptr = np.concatenate([[0], np.cumsum(real.sum(axis=1), dtype=np.int64)])
    found = np.empty(int(indptr[-1]), dtype=np.float32)
    pair_scores(indptr, lists[real], with_one(queries), table, found)
    scores = np.full(lists.shape, -np.inf, dtype=np.float32)
    scores[real] = found
    return scores


def fused(classifier: TopK, similarity: TopK, beta: float, labels: int) -> TopK:
    """beta times the classifier's chances plus 1 - beta times those of similarity, over both lists.

    Each list goes through a logistic function and is divided by the largest of its row; padding is no part
    of either.
    """
    lists = [chances_of_largest(classifier), chances_of_largest(similarity)]
    return added(lists, [beta, 1 - beta], labels, classifier.k + similarity.k)


def chances_of_largest(top: TopK) -> TopK:
    """The logistic function of the scores over the largest of the row; padding becomes zero."""
    chances = np.where(top.ids >= 0, expit(top.scores), 0)
    largest = chances.max(axis=1, keepdims=True, initial=0)
    return TopK(top.ids, chances / np.where(largest > 0, largest, 1))


@dataclass(frozen=True, eq=False)
class Candidates:
    """The labels that each row of a batch is trained on, with their targets, as CSR."""

    indptr: np.ndarray  # (batch + 1,) int64
    labels: np.ndarray  # (pairs,) int32: places in the table that is scored
    targets: np.ndarray  # (pairs,) float32


def candidate_loss(
    queries: torch.Tensor, table: torch.Tensor, candidates: Candidates, weights: np.ndarray
) -> torch.Tensor:
    """Binary cross-entropy summed over the candidates, times the row's weight, over the rows of the batch.

    queries: (batch, n), table: (labels, n + 1), the last column of which is the bias.
    """
    rows = torch.cat([queries, queries.new_ones(len(queries), 1)], 1)
    loss: torch.Tensor = _CandidateLoss.apply(rows, table, candidates, weights)  # type: ignore[no-untyped-call]
    return loss


class _CandidateLoss(torch.autograd.Function):
    """The slopes are made along with the loss, while a label's vector is at hand, and wait for `backward`."""

    @staticmethod
    def forward(
        context: Any, rows: torch.Tensor, table: torch.Tensor, candidates: Candidates, weights: np.ndarray
    ) -> torch.Tensor:
        by_label = transposed(candidates.indptr, candidates.labels, candidates.targets, len(table))
        row_slopes = np.zeros((BLOCKS, *rows.shape), dtype=np.float32)
        table_slopes = np.zeros(tuple(table.shape), dtype=np.float32)
        each = weights / np.float32(max(len(rows), 1))
        loss = candidate_pass(
            *by_label, each, rows.detach().numpy(), table.detach().numpy(), row_slopes, table_slopes
        )
        context.save_for_backward(torch.from_numpy(row_slopes).sum(0), torch.from_numpy(table_slopes))
        return torch.tensor(loss, dtype=torch.float32)

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        row_slopes, table_slopes = context.saved_tensors
        factor = float(gradients[0])
        if factor != 1:  # as it nearly always is; a pass over the table's slopes is worth leaving out
            row_slopes, table_slopes = factor * row_slopes, factor * table_slopes
        return row_slopes, table_slopes, None, None


def with_one(queries: np.ndarray) -> np.ndarray:
    """(rows, n + 1): a column of ones behind, which the bias meets."""
    return np.concatenate([queries, np.ones((len(queries), 1), np.float32)], axis=1)


def _padding(rows: int, k: int) -> TopK:
    return TopK(np.full((rows, k), -1, dtype=np.int32), np.full((rows, k), -np.inf, dtype=np.float32))
