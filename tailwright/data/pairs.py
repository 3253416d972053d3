"""CSR matrices of (row, label) pairs: how they are checked, frozen, stacked and compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from scipy import sparse

CsrArrays: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]  # indptr int64, indices int32, data float32


def empty_pairs(rows: int, labels: int) -> sparse.csr_array:
    return sparse.csr_array((rows, labels), dtype=np.float32)


def pairs_from_lists(
    ids: Sequence[Sequence[int]], labels: int, values: Sequence[Sequence[float]] | None = None
) -> sparse.csr_array:
    """A matrix from one list of label ids a row; `values` are parallel lists, all ones if left out."""
    indptr = np.zeros(len(ids) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in ids], out=indptr[1:])
    indices = np.fromiter((label for row in ids for label in row), dtype=np.int64, count=int(indptr[-1]))
    if values is None:
        data = np.ones(len(indices), dtype=np.float32)
    else:
        data = np.fromiter((v for row in values for v in row), dtype=np.float32, count=int(indptr[-1]))
    return pairs_from_arrays(data, indices, indptr, labels)


def pairs_from_arrays(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, labels: int
) -> sparse.csr_array:
    """A checked, sorted matrix from CSR arrays; raises ValueError on an id out of range or a duplicate."""
    if len(indices) and (indices.min() < 0 or indices.max() >= labels):
        bad = int(indices[(indices < 0) | (indices >= labels)][0])
        raise ValueError(f"label id {bad} is not in 0..{labels - 1}")
    index_type = np.int32 if max(labels, len(indices)) < 2**31 else np.int64
    matrix = sparse.csr_array(
        (data.astype(np.float32, copy=False), indices.astype(index_type), indptr.astype(index_type)),
        shape=(len(indptr) - 1, labels),
    )
    return checked(matrix)


def checked(matrix: sparse.csr_array) -> sparse.csr_array:
    """The same matrix with sorted indices, without duplicates (ValueError) and read-only."""
    if not isinstance(matrix, sparse.csr_array) or matrix.dtype != np.float32:
        matrix = sparse.csr_array(matrix, dtype=np.float32)
    if not matrix.has_sorted_indices:
        matrix = matrix.sorted_indices()
    duplicate = _first_duplicate_row(matrix)
    if duplicate is not None:
        raise ValueError(f"row {duplicate} has the same label twice")
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    return matrix


def _first_duplicate_row(matrix: sparse.csr_array) -> int | None:
    """The first row that stores a label twice; indices must be sorted."""
    if matrix.nnz < 2:
        return None
    same = matrix.indices[1:] == matrix.indices[:-1]
    # A repeat across a row boundary is two rows with the same label, which is fine.
    starts = matrix.indptr[1:-1]
    starts = starts[(starts > 0) & (starts < matrix.nnz)]
    same[starts - 1] = False
    where = np.flatnonzero(same)
    if not len(where):
        return None
    return int(np.searchsorted(matrix.indptr, where[0], side="right") - 1)


def values_at(matrix: sparse.csr_array, places: sparse.csr_array) -> np.ndarray:
    """(places.nnz,): what a checked matrix has at each stored pair of another of its shape, 0 where nothing.

    >>> one, other = pairs_from_lists([[0, 2]], 4, [[0.5, 1.0]]), pairs_from_lists([[1, 2, 3]], 4)
    >>> values_at(one, other).tolist()
    [0.0, 1.0, 0.0]
    """
    # A pair as one whole number, ascending.
    known, asked = (row_ids(m).astype(np.int64) * m.shape[1] + m.indices for m in (matrix, places))
    where = np.searchsorted(known, asked)
    found = np.flatnonzero(where < len(known))
    found = found[known[where[found]] == asked[found]]
    values = np.zeros(places.nnz, dtype=np.float32)
    values[found] = matrix.data[where[found]]
    return values


def same_pairs(a: sparse.csr_array, b: sparse.csr_array) -> bool:
    """Whether two checked matrices store the same values at the same places."""
    parts = ("indptr", "indices", "data")
    return a.shape == b.shape and all(np.array_equal(getattr(a, part), getattr(b, part)) for part in parts)


def stack_pairs(matrices: Sequence[sparse.csr_array]) -> sparse.csr_array:
    """The rows of all matrices, in order."""
    if len(matrices) == 1:
        return matrices[0]
    return checked(sparse.csr_array(sparse.vstack(matrices, format="csr", dtype=np.float32)))


def with_moved_columns(matrix: sparse.csr_array, places: np.ndarray, columns: int) -> sparse.csr_array:
    """The matrix with each column at its place among `columns`.

    >>> with_moved_columns(pairs_from_lists([[0, 1], [1]], 2), np.array([2, 0]), 3).toarray().tolist()
    [[1.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    indices = places[matrix.indices].astype(matrix.indices.dtype)
    moved = sparse.csr_array((matrix.data, indices, matrix.indptr), shape=(matrix.shape[0], columns))
    return moved.sorted_indices()


def csr_arrays(matrix: sparse.csr_array) -> CsrArrays:
    """The arrays of a matrix in the types that kernels are compiled for."""
    return (
        np.require(matrix.indptr, np.int64, ["C", "W"]),
        np.require(matrix.indices, np.int32, ["C", "W"]),
        np.require(matrix.data, np.float32, ["C", "W"]),
    )


def row_ids(matrix: sparse.csr_array) -> np.ndarray:
    """The row of each stored entry, (nnz,)."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
