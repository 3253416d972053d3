"""Label vectors from the rows with a label, and the rows that describe a label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import overload

import numpy as np
from scipy import sparse

from tailwright.data.dataset import Dataset
from tailwright.data.pairs import CsrArrays, csr_arrays, row_ids
from tailwright.kernels.csr import gather_rows

ENTRIES_A_BLOCK = 1 << 23  # of the rows that are gathered for a block of labels


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


def pifa_in_blocks(
    targets: sparse.csr_array, features: sparse.csr_array
) -> Iterator[tuple[range, sparse.csr_array]]:
    """The same vectors for some labels at a time, each from no other rows than theirs."""
    by_label, every = targets.T.tocsr(), csr_arrays(features)
    entries = np.diff(every[0])[by_label.indices].cumsum()
    ends = np.concatenate([[0], entries])[by_label.indptr]  # of each label, among the entries of all
    first = 0
    while first < len(ends) - 1:
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + ENTRIES_A_BLOCK)))
        block = range(first, min(last, len(ends) - 1))
        yield block, _gathered_pifa(by_label[block.start : block.stop], every, features.shape[1])
        first = block.stop


def _gathered_pifa(by_label: sparse.csr_array, features: CsrArrays, width: int) -> sparse.csr_array:
    """`pifa` of some labels, given as (labels, rows)."""
    rows = np.unique(by_label.indices)
    starts, columns, values = gather_rows(*features, rows)
    own = sparse.csr_array((values, columns, starts), shape=(len(rows), width))
    places = np.searchsorted(rows, by_label.indices)
    pairs = sparse.csr_array((by_label.data, places, by_label.indptr), shape=(by_label.shape[0], len(rows)))
    return pifa(pairs.T.tocsr(), own)


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
