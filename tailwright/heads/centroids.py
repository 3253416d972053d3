"""Label centroids: the mean vector of a label's points, and several of them for labels on very many points.

The mean of a head label's thousands of points lies near none of them. Such labels get additional centroids
by spherical k-means.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tailwright.labels.vectors import unit_rows
from tailwright.streams import stream

STARTS = 2  # k-means runs of a label, the better of which is kept
ITERATIONS = 50


@dataclass(frozen=True, eq=False)
class Centroids:
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
