"""Balanced clusters of labels: hierarchical cosine 2-means that splits every node into equal halves.

Level by level, all nodes of a level at once: two random members of a node are the first centroids, members
are ranked by the difference of their similarities and split in the middle, and centroids are updated until
the split no longer improves. Sizes of leaves differ by at most one label, which suits tree classifiers and
shortlists.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads
from scipy import sparse

from tailwright.kernels.clustering import Vectors, split_nodes
from tailwright.labels.vectors import pifa, unit_rows
from tailwright.streams import stream

__all__ = ["balanced_clusters", "pifa"]


def balanced_clusters(
    vectors: sparse.sparray | np.ndarray,
    clusters: int,
    *,
    seed: int = 0,
    iterations: int = 20,
    tolerance: float = 1e-4,
    keep_apart: np.ndarray | None = None,
) -> np.ndarray:
    """The cluster of each label, (labels,) int32; clusters of the same branch have adjacent numbers.

    | argument | meaning |
    |---|---|
    | `vectors` | (labels, columns), sparse or dense, of any length: only directions matter |
    | `clusters` | how many; rounded up to a power of two, but at most the number of labels |
    | `iterations` | most updates of a node's centroids |
    | `tolerance` | stop when the mean similarity of members to their centroid grows by less |
    | `keep_apart` | (labels,) bool: labels (such as head labels) that share no cluster with the others |

    Labels that are kept apart get their own clusters, numbered after the others: as few (again a power of
    two) as keep them no larger than the other clusters. Sizes differ by at most one within either kind.
    """
    _check(vectors, clusters, iterations, tolerance, keep_apart)
    labels = vectors.shape[0]
    units = unit_rows(vectors)
    if keep_apart is None or not keep_apart.any() or keep_apart.all():
        return _tree(units, np.arange(labels, dtype=np.int32), clusters, seed, iterations, tolerance)
    cluster_of = np.empty(labels, dtype=np.int32)
    others, apart = np.flatnonzero(~keep_apart), np.flatnonzero(keep_apart)
    cluster_of[others] = _tree(units, others, clusters, seed, iterations, tolerance)
    leaves = int(cluster_of[others].max()) + 1
    largest = -(-len(others) // leaves)
    cluster_of[apart] = leaves + _tree(units, apart, -(-len(apart) // largest), seed, iterations, tolerance)
    return cluster_of


def _tree(
    units: sparse.csr_array | np.ndarray,
    labels: np.ndarray,  # the labels to cluster, ascending
    clusters: int,
    seed: int,
    iterations: int,
    tolerance: float,
) -> np.ndarray:
    """The leaf of each of `labels`."""
    members = labels.astype(np.int32)
    bounds = np.array([0, len(members)])
    vectors = _vectors(units)
    # Deeper than this, no node would have two members.
    levels = min((clusters - 1).bit_length(), (len(members) - 1).bit_length()) if len(members) else 0
    for level in range(levels):
        sizes = np.diff(bounds)
        draws = stream(seed, "balanced-clusters", level).random((len(sizes), 2))
        split_nodes(
            vectors,
            units.shape[1],
            members,
            bounds,
            _two_members(draws, sizes),
            iterations,
            tolerance,
            min(get_num_threads(), len(sizes)),
        )
        halves = np.stack([(sizes + 1) // 2, sizes // 2], axis=1).ravel()
        bounds = np.concatenate([[0], np.cumsum(halves[halves > 0])])
    leaf_of = np.empty(units.shape[0], dtype=np.int32)
    leaf_of[members] = np.repeat(np.arange(len(bounds) - 1, dtype=np.int32), np.diff(bounds))
    return leaf_of[labels]


def _two_members(draws: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Two distinct members of each node from two numbers in [0, 1); a node of one member gets (0, 0)."""
    one = (draws[:, 0] * sizes).astype(np.int64)
    other = (draws[:, 1] * (sizes - 1)).astype(np.int64)
    return np.stack([one, other + ((other >= one) & (sizes > 1))], axis=1)


def _vectors(units: sparse.csr_array | np.ndarray) -> Vectors:
    if isinstance(units, np.ndarray):
        none = np.empty(0, dtype=np.int32)
        return none, none, np.empty(0, dtype=np.float32), units
    return units.indptr, units.indices, units.data, np.empty((0, 0), dtype=np.float32)


def _check(
    vectors: sparse.sparray | np.ndarray,
    clusters: int,
    iterations: int,
    tolerance: float,
    keep_apart: np.ndarray | None,
) -> None:
    if vectors.ndim != 2:
        raise ValueError(f"vectors must have two dimensions, got {vectors.ndim}")
    if not np.isfinite(vectors.data if sparse.issparse(vectors) else vectors).all():
        raise ValueError("vectors must be finite")
    if clusters < 1:
        raise ValueError(f"clusters must be >= 1, got {clusters}")
    if iterations < 1:
        raise ValueError(f"iterations must be >= 1, got {iterations}")
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be >= 0, got {tolerance}")
    if keep_apart is not None and (keep_apart.dtype != bool or keep_apart.shape != (vectors.shape[0],)):
        shape = (vectors.shape[0],)
        raise ValueError(
            f"keep_apart must be bool of shape {shape}, got {keep_apart.dtype} of shape {keep_apart.shape}"
        )
