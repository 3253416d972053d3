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

from tailwright.errors import NoNumberError
from tailwright.kernels.clustering import Vectors, split_nodes
from tailwright.labels.vectors import unit_rows
from tailwright.streams import stream


def balanced_clusters(
    vectors: sparse.sparray | np.ndarray,
    clusters: int,
    *,
    seed: int = 0,
    iterations: int = 20,
    tolerance: float = 1e-4,
) -> np.ndarray:
    """The cluster of each label, (labels,) int32; clusters of the same branch have adjacent numbers.

    `vectors` are (labels, columns), sparse or dense, of any length: only directions matter. `clusters` is
    rounded up to a power of two, but is at most the number of labels. The centroids of a node are updated
    until the mean similarity of members to their centroid grows by less than `tolerance`, or `iterations`
    times.
    """
    _check(vectors, clusters, iterations, tolerance)
    labels = vectors.shape[0]
    units = unit_rows(vectors)
    members = np.arange(labels, dtype=np.int32)
    bounds = np.array([0, labels])
    rows = _vectors(units)
    # Deeper than this, no node would have two members.
    levels = min((clusters - 1).bit_length(), (labels - 1).bit_length()) if labels else 0
    for level in range(levels):
        sizes = np.diff(bounds)
        draws = stream(seed, "balanced-clusters", level).random((len(sizes), 2))
        seeds, threads = _two_members(draws, sizes), min(get_num_threads(), len(sizes))
        split_nodes(rows, units.shape[1], members, bounds, seeds, iterations, tolerance, threads)
        halves = np.stack([(sizes + 1) // 2, sizes // 2], axis=1).ravel()
        bounds = np.concatenate([[0], np.cumsum(halves[halves > 0])])
    cluster_of = np.empty(labels, dtype=np.int32)
    cluster_of[members] = np.repeat(np.arange(len(bounds) - 1, dtype=np.int32), np.diff(bounds))
    return cluster_of


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


def _check(vectors: sparse.sparray | np.ndarray, clusters: int, iterations: int, tolerance: float) -> None:
    if vectors.ndim != 2:
        raise ValueError(f"vectors must have two dimensions, got {vectors.ndim}")
    if not np.isfinite(vectors.data if sparse.issparse(vectors) else vectors).all():
        raise NoNumberError("vectors must be finite")  # those of a training that diverged are not
    if clusters < 1:
        raise ValueError(f"clusters must be >= 1, got {clusters}")
    if iterations < 1:
        raise ValueError(f"iterations must be >= 1, got {iterations}")
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be >= 0, got {tolerance}")
