"""Shortlists: the few labels of each text that a classifier scores.

A text's shortlist comes from two searches among frozen vectors: for label centroids near to it, and for
training points near to it, which vote for their labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import get_num_threads
from scipy import sparse

from tailwright.data.pairs import csr_arrays
from tailwright.evaluation.ranking import TopK
from tailwright.heads.centroids import label_centroids
from tailwright.heads.nearest import GraphShape, Neighbours
from tailwright.heads.shortlist_settings import ShortlistSettings
from tailwright.kernels.shortlist import add_lists, point_votes

ROWS_A_BLOCK = 4096
# The graph of training points may be coarser than that of centroids: their votes weigh little.
POINT_GRAPH = GraphShape(links=50, build=50, search=100)


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
