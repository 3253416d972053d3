"""The largest products with points in clusters, for queries that others have named points for.

A search of the nearest clusters alone misses what matters: on 2,000 held-out rows of winapi-seealso,
`linear+twin+label-matcher` lost 0.6 points of PSP@5 when its twin searched 25 of 512 clusters. What it lost
were mostly labels that the other parts name. With these looked at too, a twentieth of the products does:

| twin searches | P@1 | PSP@5 |
|---|---|---|
| all labels | 83.06 | 72.57 |
| 5 % of the clusters, and what others name | 83.03 | 72.54 |
| 10 % | 82.94 | 72.47 |
| 20 % | 82.96 | 72.43 |

Means over ten seeds of the combination, on rows that neither it nor the parts had seen, each with a standard
error of 0.1 (P@1) and 0.07: more clusters give no more. With the combination that was learnt from a search of
all labels, 5 % cost 0.05 points of P@1 and 0.07 of PSP@5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tailwright.evaluation.ranking import TopK
from tailwright.kernels.blocks import run_rows
from tailwright.kernels.clustered import nearest_in_clusters
from tailwright.kernels.rounded import round_points
from tailwright.labels.vectors import unit_rows
from tailwright.streams import stream

FEWEST_POINTS = 20_000  # with fewer, all are searched in no time
CLUSTERS = 2.5  # times the square root of the points: 510 of 41,673
SHARE, POINTS_FOR_EACH = 0.05, 40  # of the clusters that are searched; of points for each that is wanted
ITERATIONS, POINTS_A_CLUSTER = 5, 64  # of k-means, and of its sample
POINTS_A_BLOCK = 8192
FEWEST_ROWS = 4  # of a thread: with fewer, it costs more than it saves


@dataclass(frozen=True, eq=False)
class PointClusters:
    """Clusters of points by direction: `owners[p]` is that of point p."""

    centroids: np.ndarray  # (clusters, width) float32, of unit length
    owners: np.ndarray  # (points,) int32

    @staticmethod
    def of(points: np.ndarray, seed: int) -> PointClusters:
        """Spherical k-means on a sample of the points (points, width)."""
        count = int(CLUSTERS * len(points) ** 0.5)
        draw = stream(seed, "clusters of points")
        sample = points[draw.permutation(len(points))[: POINTS_A_CLUSTER * count]]
        centroids = unit_rows(sample[:count])
        for _ in range(ITERATIONS):
            owners = _nearest(sample, centroids)
            sums = np.zeros_like(centroids)
            np.add.at(sums, owners, sample)
            filled = np.bincount(owners, minlength=count)[:, None] > 0
            centroids = np.where(filled, unit_rows(sums), centroids)
        return PointClusters(centroids, _nearest(points, centroids))

    def with_points(self, points: np.ndarray) -> PointClusters:
        """The same with more points, each in the nearest cluster."""
        return PointClusters(self.centroids, np.concatenate([self.owners, _nearest(points, self.centroids)]))


class ClusteredPoints:
    """Points (points, width) float32 in clusters."""

    def __init__(self, points: np.ndarray, clusters: PointClusters) -> None:
        self.points, self.clusters = points, clusters

    def reaches(self, k: int) -> bool:
        """Whether enough points are looked at where k of them are wanted."""
        return k * POINTS_FOR_EACH <= SHARE * len(self.points)

    def top_k(self, queries: np.ndarray, k: int, named: np.ndarray) -> TopK:
        """The k largest products with each query, of points in near clusters and of those named for it.

        `named` (queries, some) int32 are points, -1 for none. Equal products go by smaller place; where
        fewer than k points are looked at, a row is padded. Queries must be finite.
        """
        ids = np.full((len(queries), k), -1, dtype=np.int32)
        scores = np.full((len(queries), k), -np.inf, dtype=np.float32)

        def search(first: int, last: int) -> None:
            arguments: tuple[Any, ...] = (queries, named, *self._arrays, first, last, ids, scores)
            nearest_in_clusters(*arguments)

        run_rows(search, len(queries), FEWEST_ROWS)
        return TopK(ids, scores)

    @cached_property
    def _arrays(self) -> tuple[Any, ...]:
        """What the kernel takes of the points."""
        centroids, owners = self.clusters.centroids, self.clusters.owners
        members = np.argsort(owners, kind="stable").astype(np.int32)
        starts = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(centroids)))])
        probes = max(int(SHARE * len(centroids)), 1)
        rounded = round_points(self.points[members])
        return centroids, starts.astype(np.int64), members, self.points, *rounded, probes


def _nearest(points: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """(points,) int32: the nearest of the centroids, in blocks of points."""
    blocks = range(0, len(points), POINTS_A_BLOCK)
    nearest = [(points[start : start + POINTS_A_BLOCK] @ centroids.T).argmax(axis=1) for start in blocks]
    return np.concatenate([np.empty(0, np.int32), *nearest]).astype(np.int32)
