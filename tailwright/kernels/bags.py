"""Kernels of embedding bags: gather CSR rows, number the words of a batch, and sum weighted vectors.

A batch has few of all words. They get local numbers, so that a gradient is a small dense matrix over these
words only, and the backward pass is the same sum over the transposed bags.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True)
def gather_rows(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(indptr, indices, data) of the CSR rows at `rows`, in that order."""
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    for i in range(len(rows)):
        starts[i + 1] = starts[i] + indptr[rows[i] + 1] - indptr[rows[i]]
    columns = np.empty(starts[-1], dtype=np.int32)
    values = np.empty(starts[-1], dtype=np.float32)
    for i in range(len(rows)):
        place = starts[i]
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            columns[place] = indices[p]
            values[place] = data[p]
            place += 1
    return starts, columns, values


@njit(cache=True)
def number_locally(columns: np.ndarray, local: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct columns, sorted, and `columns` renumbered by their places in that list.

    `local` is scratch space of the full width, all -1 before and after.
    """
    distinct = np.empty(len(columns), dtype=np.int32)
    count = 0
    for p in range(len(columns)):
        column = columns[p]
        if local[column] < 0:
            local[column] = 0
            distinct[count] = column
            count += 1
    distinct = np.sort(distinct[:count])
    for i in range(count):
        local[distinct[i]] = i
    renumbered = np.empty(len(columns), dtype=np.int32)
    for p in range(len(columns)):
        renumbered[p] = local[columns[p]]
    for i in range(count):
        local[distinct[i]] = -1
    return distinct, renumbered


@njit(cache=True, parallel=True, fastmath=False)
def sum_rows(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, table: np.ndarray, out: np.ndarray
) -> None:
    """out[row] = the sum of data[p] x table[indices[p]] over the row's entries, in order."""
    for row in prange(out.shape[0]):
        total = out[row]
        total[:] = 0
        for p in range(indptr[row], indptr[row + 1]):
            vector = table[indices[p]]
            weight = data[p]
            for d in range(len(total)):
                total[d] += weight * vector[d]
