"""The targets of groups of labels: clusters, nodes of a tree."""

from __future__ import annotations

import numpy as np
from numba import njit

IGNORED = np.float32(-1)  # the target of a pair that gives no loss


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
