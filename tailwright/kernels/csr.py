"""Kernels over CSR matrices: gather and renumber rows, transpose, sum vectors, targets of groups of labels.

A batch, like a node of a label tree, has few of all words. They get local numbers, so that a gradient is a
small dense matrix over these words only, and the backward pass is the same sum over the transposed bags.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

IGNORED = np.float32(-1)  # the target of a pair that gives no loss


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


@njit(cache=True, parallel=True)
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
    """Weights by ascending classifier as (used features, indptr, classifiers, weights) by feature."""
    # In loops: NumPy's functions for it take four seconds to compile, which every first training pays.
    number = classifiers[-1] + 1 if len(classifiers) else 0
    by_classifier = np.zeros(number + 1, dtype=np.int64)
    for p in range(len(classifiers)):
        by_classifier[classifiers[p] + 1] += 1
    for classifier in range(number):
        by_classifier[classifier + 1] += by_classifier[classifier]
    starts, indices, data = transposed(by_classifier, features, weights, count)
    used = np.empty(count, dtype=np.int32)
    indptr = np.zeros(count + 1, dtype=np.int64)
    found = 0
    for feature in range(count):
        if starts[feature + 1] > starts[feature]:
            used[found] = feature
            found += 1
            indptr[found] = starts[feature + 1]
    return used[:found].copy(), indptr[: found + 1].copy(), indices, data


@njit(cache=True, nogil=True)
def group_targets(
    t_indptr: np.ndarray,
    t_indices: np.ndarray,
    t_data: np.ndarray,
    i_indptr: np.ndarray,
    i_indices: np.ndarray,
    group_of: np.ndarray,
    groups: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(rows, groups) CSR, in no order within a row: what each row is to the groups of its labels.

    t: (rows, labels) targets, i: (rows, labels) ignored pairs, both with ascending indices; group_of:
    (labels,), -1 for a label in no group. The value of a group is the largest target of its labels that is
    not ignored, `IGNORED` if there are only ignored pairs.
    """
    rows = len(t_indptr) - 1
    most = len(t_indices) + len(i_indices)
    indptr = np.zeros(rows + 1, dtype=np.int64)
    indices = np.empty(most, dtype=np.int32)
    data = np.empty(most, dtype=np.float32)
    place = np.full(groups, -1, dtype=np.int64)  # where a group stands in the current row
    at = 0
    for row in range(rows):
        start = at
        for p in range(i_indptr[row], i_indptr[row + 1]):
            group = group_of[i_indices[p]]
            if group >= 0 and place[group] < start:
                place[group] = at
                indices[at] = group
                data[at] = IGNORED
                at += 1
        i = i_indptr[row]
        for p in range(t_indptr[row], t_indptr[row + 1]):
            while i < i_indptr[row + 1] and i_indices[i] < t_indices[p]:
                i += 1
            if i < i_indptr[row + 1] and i_indices[i] == t_indices[p]:
                continue
            group = group_of[t_indices[p]]
            if group < 0:
                continue
            if place[group] < start:
                place[group] = at
                indices[at] = group
                data[at] = t_data[p]
                at += 1
            else:
                data[place[group]] = max(data[place[group]], t_data[p])
        indptr[row + 1] = at
    return indptr, indices[:at].copy(), data[:at].copy()
