"""Shortlists: the few labels of each text that a classifier scores.

A text's shortlist comes from two searches among frozen vectors: for label centroids near to it, and for
training points near to it, which vote for their labels. A centroid is the mean vector of a label's points;
that of a head label's thousands of points lies near none of them, so such labels get additional ones by
spherical k-means.

The rankings of a classifier, of a reranker and of similarity become one score:

    score = beta * p(classifier) + (1 - beta) * p(similarity)

with p the logistic function divided by the largest of the row. Pairs that must not be ranked leave the lists
before: a row's own label would else be the largest, which all others are divided by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import get_num_threads
from scipy import sparse
from scipy.special import expit

from tailwright.data.pairs import csr_arrays, row_ids
from tailwright.evaluation.ranking import TopK
from tailwright.heads.nearest import GraphShape, Neighbours
from tailwright.heads.shortlist_settings import ShortlistSettings
from tailwright.kernels.shortlist import add_lists, point_votes
from tailwright.labels.vectors import unit_rows
from tailwright.streams import stream

ROWS_A_BLOCK = 4096
# The graph of training points may be coarser than that of centroids: their votes weigh little.
POINT_GRAPH = GraphShape(links=50, build=50, search=100)
STARTS = 2  # k-means runs of a label, the better of which is kept
ITERATIONS = 50


class Shortlister:
    """Lists labels for vectors, from the `vectors` (points, width) of training points and their labels.

    `targets` (points, labels) weigh a point's vote and its share in a label's centroid. A label that no point
    carries is in no list. Where there are fewer labels than the settings ask for, lists are as wide as those.
    """

    def __init__(
        self, vectors: np.ndarray, targets: sparse.csr_array, settings: ShortlistSettings, seed: int = 0
    ) -> None:
        self.labels, self.targets = int(targets.shape[1]), targets
        most = max(self.labels, 1)
        self.size, self.nearest = min(settings.size, most), min(settings.centroids, most)
        self.points, self.point_labels = settings.points, min(settings.point_labels, most)
        self.point_weight = settings.point_weight
        centroids = label_centroids(
            vectors,
            targets,
            several=settings.head_centroids,
            from_points=settings.head_points,
            seed=seed,
        )
        self.owners = centroids.owners
        self._repeats = len(np.unique(self.owners)) < len(self.owners)
        self._near_centroids = Neighbours(centroids.vectors, settings.search)
        self._near_points = Neighbours(vectors, settings.search, POINT_GRAPH) if self.points else None

    def lists(self, queries: np.ndarray) -> TopK:
        """The labels of each query, best first, with the merged similarity."""
        blocks = [empty_lists(0, self.size)]
        for start in range(0, len(queries), ROWS_A_BLOCK):
            block = queries[start : start + ROWS_A_BLOCK]
            lists, weights = [self._by_centroids(block)], [1.0]
            if self._near_points is not None:
                lists.append(self._votes(self._near_points.search(block, self.points)))
                weights = [1 - self.point_weight, self.point_weight]
            blocks.append(weighted_sum(lists, weights, self.labels, self.size))
        return TopK.concat(blocks)

    def _by_centroids(self, queries: np.ndarray) -> TopK:
        top = self._near_centroids.search(queries, self.nearest)
        ids = np.where(top.ids >= 0, self.owners[top.ids] if len(self.owners) else -1, -1).astype(np.int32)
        if self._repeats:
            # Best first: the first of a label's centroids is its nearest, the others go.
            order = np.argsort(ids, axis=1, kind="stable")
            sorted_ids = np.take_along_axis(ids, order, axis=1)
            repeated = np.zeros(ids.shape, dtype=bool)
            np.put_along_axis(repeated, order[:, 1:], sorted_ids[:, 1:] == sorted_ids[:, :-1], axis=1)
            ids = np.where(repeated, -1, ids)
        return TopK(ids, np.where(ids >= 0, top.scores, -np.inf))

    def _votes(self, near: TopK) -> TopK:
        top = empty_lists(len(near), self.point_labels)
        arrays, threads = csr_arrays(self.targets), get_num_threads()
        point_votes(near.ids, near.scores, *arrays, self.labels, threads, top.ids, top.scores)
        return top


def weighted_sum(lists: Sequence[TopK], weights: Sequence[float], labels: int, k: int) -> TopK:
    """The k best labels of each row by the weighted sum of lists; a list counts 0 for what it lacks."""
    width = max(top.k for top in lists)
    ids = np.full((len(lists), len(lists[0]), width), -1, dtype=np.int32)
    values = np.zeros(ids.shape, dtype=np.float32)
    for place, top in enumerate(lists):
        ids[place, :, : top.k] = top.ids
        values[place, :, : top.k] = top.scores
    best = empty_lists(len(lists[0]), k)
    add_lists(
        ids, values, np.array(weights, dtype=np.float32), labels, get_num_threads(), best.ids, best.scores
    )
    return best


def empty_lists(rows: int, k: int) -> TopK:
    """Lists that are all padding."""
    return TopK(np.full((rows, k), -1, dtype=np.int32), np.full((rows, k), -np.inf, dtype=np.float32))


class Centroids(NamedTuple):
    """`owners[i]` is the label of vector i; each label with points has at least one."""

    vectors: np.ndarray  # (centroids, width) float32
    owners: np.ndarray  # (centroids,) int32


def label_centroids(
    vectors: np.ndarray,
    targets: sparse.csr_array,
    *,
    several: int = 1,
    from_points: int = 7500,
    seed: int = 0,
) -> Centroids:
    """The centroids of the labels of `targets` (points, labels), whose values weigh the points.

    With `several` above 1, labels on `from_points` points or more get that many in addition to their mean.
    """
    by_label = sparse.csr_array(targets.T, dtype=np.float32)
    weights = np.asarray(by_label.sum(axis=1)).ravel()
    owners = np.flatnonzero(weights > 0).astype(np.int32)
    means = (by_label @ vectors)[owners] / weights[owners, None]
    points = np.diff(by_label.indptr)
    crowded = owners[points[owners] >= from_points] if several > 1 else owners[:0]
    additional = [
        _k_means(
            vectors[by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]], several, seed
        )
        for label in crowded
    ]
    counts = [len(centroids) for centroids in additional]
    return Centroids(
        np.concatenate([means, *additional]).astype(np.float32),
        np.concatenate([owners, np.repeat(crowded, counts).astype(np.int32)]),
    )


def _k_means(points: np.ndarray, clusters: int, seed: int) -> np.ndarray:
    """(at most `clusters`, width): the directions of the clusters of `points`."""
    units = unit_rows(points)
    best, best_similarity = units[:0], -np.inf
    for start in range(STARTS):
        first = stream(seed, "label-centroids", start).permutation(len(units))[:clusters]
        centroids = units[first]
        nearest = np.full(len(units), -1)
        for _ in range(ITERATIONS):
            before, nearest = nearest, (units @ centroids.T).argmax(axis=1)
            if np.array_equal(before, nearest):
                break
            ones = np.ones(len(units), np.float32)
            member = sparse.csr_array((ones, (nearest, np.arange(len(units)))), (len(centroids), len(units)))
            sums = unit_rows(member @ units)
            centroids = np.where(np.diff(member.indptr)[:, None] > 0, sums, centroids)
        total = float((units @ centroids.T).max(axis=1).sum())
        if total > best_similarity:
            best, best_similarity = centroids, total
    return best


def reranked(ranking: TopK, logits: np.ndarray, weight: float) -> TopK:
    """`weight` times a reranker's `logits` of the ranked labels, plus 1 - `weight` times their scores."""
    share = np.float32(weight)
    mixed = np.where(ranking.ids >= 0, share * logits + (1 - share) * ranking.scores, -np.inf)
    return TopK(ranking.ids, mixed)


def fused(classifier: TopK, similarity: TopK, beta: float, labels: int) -> TopK:
    """The weighted sum of the relative probabilities of both lists, over the labels of either."""
    lists = [relative_probabilities(classifier), relative_probabilities(similarity)]
    return weighted_sum(lists, [beta, 1 - beta], labels, classifier.k + similarity.k)


def relative_probabilities(top: TopK) -> TopK:
    """The logistic function of the scores, divided by the largest of the row; padding becomes zero."""
    probabilities = np.where(top.ids >= 0, expit(top.scores), 0)
    largest = probabilities.max(axis=1, keepdims=True, initial=0)
    return TopK(top.ids, probabilities / np.where(largest > 0, largest, 1))


def without_pairs(top: TopK, excluded: sparse.csr_array) -> TopK:
    """The lists with padding in place of the labels that `excluded` (rows, labels) stores for their row.

    >>> top = TopK(np.array([[2, 0]]), np.array([[0.9, 0.4]]))
    >>> without_pairs(top, sparse.csr_array(np.array([[0, 0, 1.0]]))).ids.tolist()
    [[-1, 0]]
    """
    rows, labels = top.ids.shape[0], np.int64(excluded.shape[1])
    pairs = np.arange(rows)[:, None] * labels + top.ids  # a pair as one whole number
    barred = np.isin(pairs, row_ids(excluded) * labels + excluded.indices) & (top.ids >= 0)
    return TopK(np.where(barred, -1, top.ids), np.where(barred, -np.inf, top.scores))
