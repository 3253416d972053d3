"""The transpose of a CSR matrix, as arrays for kernels."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def transposed(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, columns: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(indptr, indices, data) of the transpose of a CSR matrix with `columns` columns; rows stay in order."""
    starts = np.zeros(columns + 1, dtype=np.int64)
    for p in range(len(indices)):
        starts[indices[p] + 1] += 1
    for column in range(columns):
        starts[column + 1] += starts[column]
    place = starts[:-1].copy()
    rows = np.empty(len(indices), dtype=np.int32)
    values = np.empty(len(indices), dtype=np.float32)
    for row in range(len(indptr) - 1):
        for p in range(indptr[row], indptr[row + 1]):
            at = place[indices[p]]
            rows[at] = row
            values[at] = data[p]
            place[indices[p]] += 1
    return starts, rows, values
