"""Balanced clusters of labels in which frequent labels are kept apart from the others, as in ECLARE.

The clusters of all other labels are halved level by level; as soon as a cluster is smaller than the set of
frequent labels, this set joins as one more cluster and is halved along with the rest.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tailwright.labels.surrogate_clusters import cluster_count, described_labels, label_clusters


def leaf_counts(others: int, frequent: int, wanted: int, labels_each: float) -> tuple[int, int]:
    """How many clusters there are of the other labels and of the frequent ones, both powers of two or 0.

    The frequent ones have 2^(b - floor(log2(labels / frequent)) - 1) where the others have 2^b, at least one.

    >>> leaf_counts(131_000, 73, 32_768, 3.9)
    (32768, 16)
    >>> leaf_counts(100, 0, 32, 3), leaf_counts(0, 10, 32, 2.5)
    ((32, 0), (4, 0))
    """
    if not frequent or not others:
        return cluster_count(others + frequent, wanted, labels_each), 0
    leaves = cluster_count(others, wanted, labels_each)
    joins_at = ((others + frequent) // frequent).bit_length()  # floor(log2(labels / frequent)) + 1
    return leaves, 1 << max(leaves.bit_length() - 1 - joins_at, 0)


def clusters_apart(
    vectors: sparse.csr_array | np.ndarray, frequent: np.ndarray, leaves: tuple[int, int], seed: int
) -> np.ndarray:
    """(labels,) int32: the cluster of each label, -1 without a vector; those of frequent labels come last.

    `frequent` (labels,) bool, `leaves` as `leaf_counts` gives them.
    """
    cluster_of = np.full(vectors.shape[0], -1, dtype=np.int32)
    described = described_labels(vectors)
    apart = frequent[described] if leaves[1] else np.zeros(len(described), dtype=bool)
    start = 0
    for labels, clusters in ((described[~apart], leaves[0]), (described[apart], leaves[1])):
        if len(labels):
            cluster_of[labels] = start + label_clusters(vectors[labels], clusters, seed)
        start += clusters
    return cluster_of
