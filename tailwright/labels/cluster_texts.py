"""What describes labels and their clusters: sums of their rows and of their texts."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from scipy import sparse

from tailwright.data.dataset import Dataset
from tailwright.labels.vectors import taught_pairs, unit_rows

Matrix = TypeVar("Matrix", sparse.csr_array, np.ndarray)


def describing_pairs(data: Dataset, rows: str) -> sparse.csr_array:
    """(rows, labels): the rows that describe each label, with their weights; `rows`: "original" or "all".

    A label that only an augmentation gave rows is described by those in either case.
    """
    return taught_pairs(data) if rows == "original" else data.weighted_targets()


def label_sums(pairs: sparse.csr_array, features: Matrix, label_features: Matrix) -> Matrix:
    """(labels, columns): the sum of each label's rows of `features`, of length 1.

    A label without rows is described by its own text, its row of `label_features`. Both are sparse or dense.
    """
    by_label = sparse.csr_array(pairs.T)
    bare = sparse.diags_array((np.diff(by_label.indptr) == 0).astype(np.float32))
    sums: Matrix = unit_rows(by_label @ features + bare @ label_features)
    return sums


def members_of(cluster_of: np.ndarray, clusters: int) -> sparse.csr_array:
    """(clusters, labels): 1 where a label is in a cluster; `cluster_of` (labels,) is -1 for none."""
    labels = np.flatnonzero(cluster_of >= 0)
    ones = np.ones(len(labels), dtype=np.float32)
    return sparse.csr_array((ones, (cluster_of[labels], labels)), shape=(clusters, len(cluster_of)))


def cluster_texts(label_matrix: sparse.csr_array, cluster_of: np.ndarray, clusters: int) -> sparse.csr_array:
    """(clusters, words): the sum of the texts of a cluster's labels, of length 1."""
    return unit_rows(members_of(cluster_of, clusters) @ label_matrix)
