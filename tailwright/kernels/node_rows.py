"""The rows, features and targets of one node of a label tree, renumbered for locality."""

from __future__ import annotations

import numpy as np
from numba import njit

from tailwright.kernels.bags import gather_rows, number_locally


@njit(cache=True, nogil=True)
def local_rows(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, rows: np.ndarray, columns: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The given rows of a CSR matrix over the features that they use, numbered from 0 in their order.

    Returns (features, indptr, indices, data): `features` (local,) are the columns, ascending.
    """
    starts, gathered, values = gather_rows(indptr, indices, data, rows)
    features, renumbered = number_locally(gathered, np.full(columns, -1, dtype=np.int32))
    return features, starts, renumbered, values


@njit(cache=True, nogil=True)
def local_targets(
    t_indptr: np.ndarray,
    t_indices: np.ndarray,
    t_data: np.ndarray,
    first: int,
    last: int,
    node_rows: np.ndarray,
    rows: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Classifiers first..last - 1 of a (classifiers, rows) CSR, over the rows of a node alone."""
    number = np.full(rows, -1, dtype=np.int32)
    for i in range(len(node_rows)):
        number[node_rows[i]] = i
    most = t_indptr[last] - t_indptr[first]
    indptr = np.zeros(last - first + 1, dtype=np.int64)
    indices = np.empty(most, dtype=np.int32)
    data = np.empty(most, dtype=np.float32)
    at = 0
    for classifier in range(first, last):
        for p in range(t_indptr[classifier], t_indptr[classifier + 1]):
            if number[t_indices[p]] >= 0:
                indices[at] = number[t_indices[p]]
                data[at] = t_data[p]
                at += 1
        indptr[classifier - first + 1] = at
    return indptr, indices[:at].copy(), data[:at].copy()


@njit(cache=True, nogil=True)
def by_feature(
    features: np.ndarray, classifiers: np.ndarray, weights: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Weights given by classifier as (used features, indptr, classifiers, weights) by feature."""
    starts = np.zeros(count + 1, dtype=np.int64)
    for feature in features:
        starts[feature + 1] += 1
    used = np.flatnonzero(starts[1:]).astype(np.int32)
    for feature in range(count):
        starts[feature + 1] += starts[feature]
    indptr = np.empty(len(used) + 1, dtype=np.int64)
    indptr[0] = 0
    for i in range(len(used)):
        indptr[i + 1] = starts[used[i] + 1]
    fill = starts[:-1]
    indices = np.empty(len(features), dtype=np.int32)
    data = np.empty(len(features), dtype=np.float32)
    for i in range(len(features)):
        place = fill[features[i]]
        fill[features[i]] += 1
        indices[place] = classifiers[i]
        data[place] = weights[i]
    return used, indptr, indices, data
