"""A shallow, wide tree over labels, by k-means of any cluster size.

A node with more than `cluster_size` labels is cut into `branching` clusters of labels that stand on similar
rows; the clusters are as uneven as the data. Such clusters keep what belongs together in one place, which
balanced ones have to tear apart. All labels lie at the same depth: a node that is not cut has one child.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from tailwright.kernels.kmeans import mean_directions, nearest_centroids
from tailwright.kernels.node_rows import local_rows
from tailwright.streams import stream

VECTORS_A_BLOCK = 2048


@dataclass(frozen=True)
class TreeShape:
    """How a tree is cut.

    | setting | meaning |
    |---|---|
    | `depth` | levels below the root, that of the labels included |
    | `branching` | clusters that a node is cut into |
    | `cluster_size` | a node with so many labels or fewer is not cut |
    | `iterations` | most renewals of the centroids |
    | `tolerance` | stop when the mean similarity to the centroids grows by less |
    """

    depth: int = 3
    branching: int = 100
    cluster_size: int = 100
    iterations: int = 20
    tolerance: float = 1e-3


@dataclass(frozen=True, eq=False)
class LabelTree:
    """Levels of nodes from the root's children (level 0) to the labels (the last level).

    `starts[d]` (nodes of the level above + 1,): the children of node j at level d are starts[d][j] up to
    starts[d][j + 1]; the level above level 0 is the root alone. `labels` (places,): the label at each place
    of the last level.
    """

    starts: tuple[np.ndarray, ...]
    labels: np.ndarray

    @property
    def depth(self) -> int:
        return len(self.starts)

    def width(self, level: int) -> int:
        """The number of nodes at a level; labels at the last."""
        return int(self.starts[level][-1])

    def node_of_label(self, level: int, labels: int) -> np.ndarray:
        """(labels,) int32: the node at `level` above each label (its place at the last), -1 for none."""
        nodes = np.arange(len(self.labels))
        for deeper in range(self.depth - 1, level, -1):
            nodes = np.searchsorted(self.starts[deeper], nodes, side="right") - 1
        found = np.full(labels, -1, dtype=np.int32)
        found[self.labels] = nodes
        return found


def label_tree(
    vectors: sparse.csr_array, labels: np.ndarray, shape: TreeShape, *, seed: int, threads: int = 1
) -> LabelTree:
    """The tree over `labels` (ids), whose vectors of length 1 are the rows of `vectors` (labels, columns)."""
    order = np.arange(len(labels))
    bounds = np.array([0, len(labels)])
    starts: list[np.ndarray] = []
    with ThreadPoolExecutor(threads) as pool:
        while len(starts) < shape.depth - 1 and np.diff(bounds).max(initial=0) > shape.cluster_size:
            level, nodes = len(starts), list(pairwise(bounds.tolist()))

            def cut(node: int, level: int = level, nodes: list = nodes) -> np.ndarray:
                members = order[nodes[node][0] : nodes[node][1]]
                if len(members) <= shape.cluster_size:
                    return np.zeros(len(members), dtype=np.int32)
                draw = stream(seed, f"label-tree {level}", node)
                # The root is one node, so its labels are shared out over the threads instead.
                return k_means(vectors[members], shape, draw, pool if len(nodes) == 1 else None)

            found = [cut(0)] if len(nodes) == 1 else list(pool.map(cut, range(len(nodes))))
            sizes = []
            for (first, last), clusters in zip(nodes, found, strict=True):
                order[first:last] = order[first:last][np.argsort(clusters, kind="stable")]
                sizes.append(np.bincount(clusters)[np.unique(clusters)])
            starts.append(np.concatenate([[0], np.cumsum([len(size) for size in sizes])]))
            bounds = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return LabelTree((*starts, bounds), labels[order])


def k_means(
    vectors: sparse.csr_array, shape: TreeShape, draw: np.random.Generator, pool: ThreadPoolExecutor | None
) -> np.ndarray:
    """The cluster of each vector, (vectors,) int32; the first centroids are vectors drawn at random."""
    count = vectors.shape[0]
    # Over the columns in use only: a small node then has small centroids.
    columns, indptr, indices, data = local_rows(
        vectors.indptr.astype(np.int64),
        vectors.indices.astype(np.int32),
        vectors.data,
        np.arange(count, dtype=np.int32),
        vectors.shape[1],
    )
    clusters = np.full(count, -1, dtype=np.int32)
    chosen = draw.choice(count, size=min(shape.branching, count), replace=False)
    centroids = np.zeros((len(columns), len(chosen)), dtype=np.float32)
    for number, row in enumerate(chosen):
        entries = slice(indptr[row], indptr[row + 1])
        centroids[indices[entries], number] = data[entries]
    blocks = [(at, min(at + VECTORS_A_BLOCK, count)) for at in range(0, count, VECTORS_A_BLOCK)]

    def assign(block: tuple[int, int]) -> float:
        return float(nearest_centroids(indptr, indices, data, centroids, *block, clusters))

    before = -np.inf
    for _ in range(shape.iterations):
        total = sum(map(assign, blocks) if pool is None else pool.map(assign, blocks))
        if total - before < shape.tolerance * count:
            break
        before = total
        mean_directions(indptr, indices, data, clusters, centroids)
    return clusters
