"""A shallow, wide tree over labels, by k-means of any cluster size.

A node with more than `cluster_size` labels is split into `branching` clusters of labels with similar rows;
the clusters are as uneven as the data, and keep together what balanced clusters would have to separate. All
labels lie at the same depth: a node that is not split has one child.

K-means puts all labels that are like no centroid into one cluster, and of several hundred thousand labels
there are so many of these that the tree is cut again: a classifier is trained on the rows of its whole node,
which takes time with the square of the labels in it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from tailwright.data.pairs import CsrArrays, csr_arrays
from tailwright.kernels.clustering import mean_directions, nearest_centroids
from tailwright.kernels.csr import local_rows
from tailwright.labels.clustering import balanced_clusters
from tailwright.labels.vectors import unit_rows
from tailwright.settings import Settings, setting
from tailwright.store import FolderReader, FolderWriter
from tailwright.streams import stream

VECTORS_PER_BLOCK = 2048
# Where a lowest node has more labels than TOLERATED, all with more than MOST_LABELS are cut into balanced
# parts. Of 120,000 generated labels no node has so many.
TOLERATED, MOST_LABELS = 4_000, 1_000


@dataclass(frozen=True)
class TreeShape(Settings):
    """How a tree is split."""

    depth: int = setting(3, "levels below the root, that of the labels included", least=1, most=64)
    branching: int = setting(100, "clusters that a node is split into", least=1, most=1_000_000)
    cluster_size: int = setting(100, "a node with this many labels or fewer is not split", least=1)
    iterations: int = setting(20, "most updates of the centroids", least=1)
    tolerance: float = setting(1e-3, "stop when the mean similarity to the centroids grows by less", least=0)


@dataclass(frozen=True, eq=False)
class LabelTree:
    """Levels of nodes from the root's children (level 0) to the labels (the last level).

    `starts[d]` (nodes of the level above + 1,): the children of node j at level d are starts[d][j] up to
    starts[d][j + 1]; the level above level 0 is only the root. `labels` (places,): the label at each place of
    the last level.
    """

    starts: tuple[np.ndarray, ...]
    labels: np.ndarray

    @property
    def depth(self) -> int:
        return len(self.starts)

    def width(self, level: int) -> int:
        """The number of nodes at a level; at the last, of labels."""
        return int(self.starts[level][-1])

    def node_of_label(self, level: int, labels: int) -> np.ndarray:
        """(labels,) int32: the node of each label at `level` (at the last, its place), -1 for none."""
        nodes = np.arange(len(self.labels))
        for deeper in range(self.depth - 1, level, -1):
            nodes = np.searchsorted(self.starts[deeper], nodes, side="right") - 1
        node_of = np.full(labels, -1, dtype=np.int32)
        node_of[self.labels] = nodes
        return node_of

    def save(self, folder: FolderWriter) -> None:
        """Write every level."""
        folder.array("labels", self.labels)
        for level, starts in enumerate(self.starts):
            folder.array(f"starts-{level}", starts)

    @staticmethod
    def load(folder: FolderReader, labels: np.ndarray) -> LabelTree:
        """What `save` wrote of a tree over these labels; few labels make a shallower tree."""
        starts: list[np.ndarray] = []
        while folder.has(f"starts-{len(starts)}.npy"):
            starts.append(folder.array(f"starts-{len(starts)}", shape=(None,)))
        return LabelTree(tuple(starts), folder.array("labels", dtype=labels.dtype, shape=labels.shape))


def with_more_labels(tree: LabelTree, labels: np.ndarray, vectors: sparse.csr_array) -> LabelTree:
    """The tree with more `labels` (ids), each last in the lowest cluster that is nearest to it.

    `vectors` (all labels, columns) are of length 1; a cluster's is the sum of those of its labels.
    """
    starts = tree.starts[-1]
    sizes = np.diff(starts)
    members = sparse.csr_array((np.ones(len(tree.labels), np.float32), np.arange(len(tree.labels)), starts))
    clusters = unit_rows(members @ vectors[tree.labels]).T.tocsc()  # (columns, clusters)
    nearest = [
        np.asarray((vectors[labels[at : at + VECTORS_PER_BLOCK]] @ clusters).todense()).argmax(axis=1)
        for at in range(0, len(labels), VECTORS_PER_BLOCK)
    ]
    owners = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), *nearest])
    order = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners, minlength=len(sizes)))
    every = np.concatenate([tree.labels, labels.astype(tree.labels.dtype)])
    return LabelTree((*tree.starts[:-1], np.concatenate([[0], ends])), every[order])


def label_tree(
    vectors: sparse.csr_array, labels: np.ndarray, shape: TreeShape, *, seed: int, threads: int = 1
) -> LabelTree:
    """The tree over `labels` (ids), whose vectors of length 1 are the rows of `vectors` (labels, columns)."""
    order, every_vector = np.arange(len(labels)), csr_arrays(vectors)
    bounds = np.array([0, len(labels)])
    starts: list[np.ndarray] = []
    with ThreadPoolExecutor(threads) as pool:
        while len(starts) < shape.depth - 1 and np.diff(bounds).max(initial=0) > shape.cluster_size:
            level, nodes = len(starts), list(pairwise(bounds.tolist()))

            def split(node: int, level: int = level, nodes: list = nodes) -> np.ndarray:
                members = order[nodes[node][0] : nodes[node][1]]
                if len(members) <= shape.cluster_size:
                    return np.zeros(len(members), dtype=np.int32)
                draw = stream(seed, f"label-tree {level}", node)
                # The root is a single node, so threads share its labels instead.
                together = pool if len(nodes) == 1 else None
                return k_means(every_vector, members, vectors.shape[1], shape, draw, together)

            every = [split(0)] if len(nodes) == 1 else list(pool.map(split, range(len(nodes))))
            sizes = []
            for (first, last), clusters in zip(nodes, every, strict=True):
                order[first:last] = order[first:last][np.argsort(clusters, kind="stable")]
                sizes.append(np.bincount(clusters)[np.unique(clusters)])
            starts.append(np.concatenate([[0], np.cumsum([len(size) for size in sizes])]))
            bounds = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    if starts and np.diff(bounds).max(initial=0) > max(TOLERATED, shape.cluster_size):
        starts[-1], bounds = _with_parts(starts[-1], bounds, order, vectors, seed)
    return LabelTree((*starts, bounds), labels[order])


def _with_parts(
    starts: np.ndarray, bounds: np.ndarray, order: np.ndarray, vectors: sparse.csr_array, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The starts and bounds of the lowest nodes, with balanced parts for those of too many labels.

    `order` is changed within these nodes. The parts of a node are its siblings, so the tree is no deeper.
    """
    sizes = []
    for first, last in pairwise(bounds.tolist()):
        if last - first <= MOST_LABELS:
            sizes.append(np.array([last - first]))
            continue
        members = order[first:last].copy()
        parts = balanced_clusters(vectors[members], -(-len(members) // MOST_LABELS), seed=seed)
        order[first:last] = members[np.argsort(parts, kind="stable")]
        sizes.append(np.bincount(parts))
    ends = np.concatenate([[0], np.cumsum([len(parts) for parts in sizes])])
    return ends[starts], np.concatenate([[0], np.cumsum(np.concatenate(sizes))])


def k_means(
    vectors: CsrArrays,
    members: np.ndarray,
    width: int,
    shape: TreeShape,
    draw: np.random.Generator,
    pool: ThreadPoolExecutor | None,
) -> np.ndarray:
    """The cluster of each of the `members`, (members,) int32, among vectors with `width` columns.

    The first centroids are vectors drawn at random.
    """
    count = len(members)
    # Only the columns in use: a small node then has small centroids.
    columns, indptr, indices, data = local_rows(*vectors, members, width)
    clusters = np.full(count, -1, dtype=np.int32)
    first_rows = draw.choice(count, size=min(shape.branching, count), replace=False)
    centroids = np.zeros((len(columns), len(first_rows)), dtype=np.float32)
    for number, row in enumerate(first_rows):
        entries = slice(indptr[row], indptr[row + 1])
        centroids[indices[entries], number] = data[entries]
    blocks = [(at, min(at + VECTORS_PER_BLOCK, count)) for at in range(0, count, VECTORS_PER_BLOCK)]

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
