"""Kernels over CSR matrices: gather and renumber rows, transpose, sum vectors, targets of groups of labels.

A batch, like a node of a label tree, has few of all words. They get local numbers, so that a gradient is a
small dense matrix over these words only, and the backward pass is the same sum over the transposed bags.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numba import njit

from tailwright.kernels.blocks import run_rows
from tailwright.kernels.room import is_in_files, room

PART = 1 << 22  # entries that numpy may take as indices at once
STRETCH = 1 << 25  # entries that are written here and there, where the whole matrix is in a file
# A list so many times shorter than the table that would number its entries is searched instead: with the
# labels grow both the nodes of a tree and the rows and words of such a table.
FEW = 32
FEWEST_ROWS = 128  # of a block: below this a thread costs more than it saves
IGNORED = np.float32(-1)  # the target of a pair that gives no loss


def gather_rows(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(indptr, indices, data) of the CSR rows at `rows`, in that order."""
    rows = np.asarray(rows, dtype=np.int64)
    starts = _starts(indptr[rows + 1] - indptr[rows])
    columns, values = room(starts[-1], np.int32), room(starts[-1], np.float32)
    if not is_in_files():
        _copy_rows(indptr, indices, data, rows, columns, values)
        return starts, columns, values
    for first, last in _stretches(starts):  # in the order of the file, which would be read here and there
        order = np.argsort(rows[first:last]) + first
        _place_rows(indptr, indices, data, rows, order, starts, columns, values)
    return starts, columns, values


@njit(cache=True, nogil=True)
def _copy_rows(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
) -> None:
    place = 0
    for i in range(len(rows)):
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            columns[place] = indices[p]
            values[place] = data[p]
            place += 1


@njit(cache=True, nogil=True)
def _place_rows(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    rows: np.ndarray,
    order: np.ndarray,  # places among `rows`
    starts: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
) -> None:
    for i in order:
        at, begin = starts[i], indptr[rows[i]]
        for p in range(begin, indptr[rows[i] + 1]):
            columns[at + p - begin] = indices[p]
            values[at + p - begin] = data[p]


def _stretches(starts: np.ndarray) -> list[tuple[int, int]]:
    """(first, last) of stretches that have about `STRETCH` entries each."""
    cuts = np.searchsorted(starts, np.arange(STRETCH, int(starts[-1]), STRETCH))
    return list(pairwise(np.unique([0, *cuts, len(starts) - 1]).tolist()))


def number_locally(columns: np.ndarray, local: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct columns, sorted, and `columns` renumbered by their places in that list.

    `local` is scratch space of the full width, all -1 before and after.
    """
    if len(columns) * FEW < len(local):
        distinct: np.ndarray = np.unique(columns)
    else:  # marks, as sorting many columns takes ten times as long
        used = np.zeros(len(local), dtype=np.bool_)
        used[columns] = True
        distinct = np.flatnonzero(used).astype(columns.dtype)
    local[distinct] = np.arange(len(distinct), dtype=np.int32)
    renumbered: np.ndarray = local[columns]
    local[distinct] = -1
    return distinct, renumbered


def local_rows(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, rows: np.ndarray, columns: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The given rows of a CSR matrix over the features that they use, numbered from 0 in their order.

    Returns (features, indptr, indices, data): `features` (local,) are the columns, ascending.
    """
    starts, gathered, values = gather_rows(indptr, indices, data, rows)
    if len(gathered) * FEW < columns:
        features, local = np.unique(gathered, return_inverse=True)
        return features, starts, local.astype(np.int32), values
    is_used = np.zeros(columns, dtype=np.bool_)
    for part in _parts(gathered):
        is_used[part] = True
    features = np.flatnonzero(is_used).astype(np.int32)
    number = np.empty(columns, dtype=np.int32)
    number[features] = np.arange(len(features), dtype=np.int32)
    for part in _parts(gathered):
        part[:] = number[part]
    return features, starts, gathered, values


def _parts(indices: np.ndarray) -> list[np.ndarray]:
    """Views of all of them: numpy makes 64-bit copies of what it takes as indices."""
    return [indices[at : at + PART] for at in range(0, len(indices), PART)]


def transposed(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, columns: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(indptr, indices, data) of the transpose of a CSR matrix with `columns` columns; rows stay in order."""
    counts = (np.bincount(part, minlength=columns) for part in _parts(indices))
    starts = _starts(sum(counts, np.zeros(columns, np.int64)))
    rows, values = room(len(indices), np.int32), room(len(indices), np.float32)
    if not is_in_files():
        _transpose(indptr, indices, data, starts[:-1].copy(), rows, values)
        return starts, rows, values
    for first, last in _stretches(starts):  # all is read for each, as what is written here and there must fit
        place = starts[first:last].copy()
        _transpose_some(indptr, indices, data, first, place, rows, values)
    return starts, rows, values


@njit(cache=True, nogil=True)
def _transpose(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    place: np.ndarray,  # (columns,): where the next entry of each column goes
    rows: np.ndarray,
    values: np.ndarray,
) -> None:
    for row in range(len(indptr) - 1):
        for p in range(indptr[row], indptr[row + 1]):
            at = place[indices[p]]
            rows[at] = row
            values[at] = data[p]
            place[indices[p]] = at + 1


@njit(cache=True, nogil=True)
def _transpose_some(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    first: int,
    place: np.ndarray,  # of the columns from `first` on
    rows: np.ndarray,
    values: np.ndarray,
) -> None:
    for row in range(len(indptr) - 1):
        for p in range(indptr[row], indptr[row + 1]):
            column = indices[p] - first
            if 0 <= column < len(place):
                at = place[column]
                rows[at] = row
                values[at] = data[p]
                place[column] = at + 1


def sum_rows(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, table: np.ndarray, out: np.ndarray
) -> None:
    """out[row] = the sum of data[p] x table[indices[p]] over the row's entries, in order."""
    run_rows(
        lambda first, last: _sum_rows(indptr, indices, data, table, first, last, out), len(out), FEWEST_ROWS
    )


@njit(cache=True, nogil=True)
def _sum_rows(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    table: np.ndarray,
    first: int,
    last: int,
    out: np.ndarray,
) -> None:
    for row in range(first, last):
        total = out[row]
        for d in range(len(total)):
            total[d] = 0
        for p in range(indptr[row], indptr[row + 1]):
            vector = table[indices[p]]
            weight = data[p]
            for d in range(len(total)):
                total[d] += weight * vector[d]


def local_targets(
    t_indptr: np.ndarray,
    t_indices: np.ndarray,
    t_data: np.ndarray,
    first: int,
    last: int,
    node_rows: np.ndarray,
    rows: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Classifiers first..last - 1 of a (classifiers, rows) CSR, over the rows of a node alone, ascending."""
    bounds = t_indptr[first : last + 1]
    wanted = t_indices[bounds[0] : bounds[-1]]
    if len(wanted) * FEW < rows and len(node_rows):
        places = np.minimum(np.searchsorted(node_rows, wanted), len(node_rows) - 1)
        indices = np.where(node_rows[places] == wanted, places, -1).astype(np.int32)
    else:
        number = np.full(rows, -1, dtype=np.int32)
        number[node_rows] = np.arange(len(node_rows), dtype=np.int32)
        indices = number[wanted]
    kept = indices >= 0
    indptr: np.ndarray = _starts(kept)[bounds - bounds[0]]
    return indptr, indices[kept], t_data[bounds[0] : bounds[-1]][kept]


def by_feature(
    features: np.ndarray, classifiers: np.ndarray, weights: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Weights by ascending classifier as (used features, indptr, classifiers, weights) by feature."""
    starts, indices, data = transposed(_starts(np.bincount(classifiers)), features, weights, count)
    used = np.flatnonzero(np.diff(starts)).astype(np.int32)
    return used, np.append(starts[used], starts[-1]), indices, data


def _starts(sizes: np.ndarray) -> np.ndarray:
    """(sizes + 1,) int64: where each of some stretches starts, and the end of the last."""
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


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
    most = len(t_indices) + len(i_indices)
    indptr = np.zeros(len(t_indptr), dtype=np.int64)
    indices, data = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.float32)
    place = np.full(groups, -1, dtype=np.int64)
    _group(t_indptr, t_indices, t_data, i_indptr, i_indices, group_of, place, indptr, indices, data)
    return indptr, indices[: indptr[-1]].copy(), data[: indptr[-1]].copy()


@njit(cache=True, nogil=True)
def _group(
    t_indptr: np.ndarray,
    t_indices: np.ndarray,
    t_data: np.ndarray,
    i_indptr: np.ndarray,
    i_indices: np.ndarray,
    group_of: np.ndarray,
    place: np.ndarray,  # (groups,): where a group stands in the current row
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
) -> None:
    at = 0
    for row in range(len(indptr) - 1):
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
            elif t_data[p] > data[place[group]]:
                data[place[group]] = t_data[p]
        indptr[row + 1] = at
