"""Exact nearest neighbours of sparse, non-negative vectors by an inverted index.

Each thread has one dense accumulator, so nothing of size rows x columns is built; each row is summed in a
fixed order, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, njit, prange
from scipy import sparse

from tailwright.kernels.ranking import insert


def nearest_rows(queries: sparse.csr_array, index: sparse.csr_array, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k columns of `index` with the largest dot product with each query.

    queries: (rows, words), index: (words, columns); all values must be >= 0. Returns ids (rows, k) int32 and
    scores (rows, k) float32, best first, equal scores by smaller id, padded with -1 and minus infinity if
    fewer than k columns share a word with the query.
    """
    ids = np.full((queries.shape[0], k), -1, dtype=np.int32)
    scores = np.full((queries.shape[0], k), -np.inf, dtype=np.float32)
    query_arrays = queries.indptr, queries.indices, queries.data
    index_arrays = index.indptr, index.indices, index.data
    _nearest(*query_arrays, *index_arrays, index.shape[1], get_num_threads(), ids, scores)
    return ids, scores


@njit(cache=True, parallel=True)
def _nearest(
    q_indptr: np.ndarray,
    q_indices: np.ndarray,
    q_data: np.ndarray,
    i_indptr: np.ndarray,
    i_indices: np.ndarray,
    i_data: np.ndarray,
    columns: int,
    threads: int,
    ids: np.ndarray,
    scores: np.ndarray,
) -> None:
    rows = len(ids)
    for thread in prange(threads):
        total = np.empty(columns, dtype=np.float32)
        touched = np.empty(columns, dtype=np.int32)
        seen_by = np.full(columns, -1, dtype=np.int32)  # the last row that touched a column
        for row in range(rows * thread // threads, rows * (thread + 1) // threads):
            count = 0
            for p in range(q_indptr[row], q_indptr[row + 1]):
                word, weight = q_indices[p], q_data[p]
                for q in range(i_indptr[word], i_indptr[word + 1]):
                    column = i_indices[q]
                    if seen_by[column] != row:
                        seen_by[column] = row
                        touched[count] = column
                        count += 1
                        total[column] = 0
                    total[column] += weight * i_data[q]
            filled = 0
            for t in range(count):
                filled = insert(ids[row], scores[row], filled, touched[t], total[touched[t]])
