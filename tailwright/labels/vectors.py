"""Label vectors from the rows with a label, and the rows that describe a label."""

from __future__ import annotations

from typing import overload

import numpy as np
from scipy import sparse

from tailwright.data.dataset import Dataset
from tailwright.data.pairs import row_ids


def pifa(targets: sparse.sparray, features: sparse.sparray) -> sparse.csr_array:
    """The mean direction of each label's rows, (labels, columns) CSR float32.

    "Positive instance feature aggregation": the sum of the label's rows of `features`, each first scaled to
    length 1, then scaled to length 1 itself. A soft target counts by its value. A label without rows or
    features is an empty row.

    >>> vectors = pifa(sparse.csr_array([[1, 0], [1, 0]]), sparse.csr_array([[3.0, 0], [0, 4.0]]))
    >>> (vectors.toarray() ** 2).round(6).tolist()
    [[0.5, 0.5], [0.0, 0.0]]
    """
    if targets.shape[0] != features.shape[0]:
        raise ValueError(f"targets has {targets.shape[0]} rows, features has {features.shape[0]}")
    sums = sparse.csr_array(targets, dtype=np.float32).T.tocsr() @ unit_rows(features)
    sums.sort_indices()
    return unit_rows(sums)


def taught_pairs(train: Dataset) -> sparse.csr_array:
    """(rows, labels): the rows that describe each label, its target there times the weight of the pair.

    These are its original rows, or, if it has none, those that an augmentation made.
    """
    pairs = train.weighted_targets()
    original = train.origin.is_original()[row_ids(pairs)]
    bare = np.bincount(pairs.indices[original], minlength=train.labels) == 0
    pairs.data *= original | bare[pairs.indices]
    pairs.eliminate_zeros()
    return pairs


@overload
def unit_rows(vectors: np.ndarray) -> np.ndarray: ...
@overload
def unit_rows(vectors: sparse.sparray) -> sparse.csr_array: ...
def unit_rows(vectors: sparse.sparray | np.ndarray) -> sparse.csr_array | np.ndarray:
    """A float32 copy with rows of length 1, sparse or dense like `vectors`; empty rows stay empty."""
    if not sparse.issparse(vectors):
        dense = np.array(vectors, dtype=np.float32, order="C")
        lengths = np.linalg.norm(dense.astype(np.float64), axis=1)
        return dense / np.where(lengths > 0, lengths, 1).astype(np.float32)[:, None]
    matrix = sparse.csr_array(vectors, dtype=np.float32, copy=True)
    matrix.sum_duplicates()
    squares = np.add.reduceat(
        np.append(matrix.data.astype(np.float64) ** 2, 0.0), np.minimum(matrix.indptr[:-1], matrix.nnz)
    )
    # For an empty row, reduceat gives the entry at its start, which belongs to another row.
    lengths = np.sqrt(np.where(np.diff(matrix.indptr) > 0, squares, 1.0))
    lengths[lengths == 0] = 1.0
    matrix.data /= np.repeat(lengths, np.diff(matrix.indptr)).astype(np.float32)
    return matrix
