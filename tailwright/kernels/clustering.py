"""Clusterings by cosine similarity: a level of balanced 2-means, and k-means with clusters of any size.

A level is split in one call. Each thread has a few arrays over the columns and works on its own nodes, so
memory does not grow with the number of nodes, and results do not depend on the number of threads.

Centroids of k-means are stored by column, (columns, clusters), so that an entry of a vector meets all
clusters in contiguous memory.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

# (indptr, indices, data, dense): rows of length 1 or 0, either CSR with `dense` of shape (0, 0), or dense
# (rows, columns) with CSR arrays that are not read. One type for both, so that one kernel serves both.
Vectors = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@njit(cache=True, parallel=True)
def split_nodes(
    vectors: Vectors,
    columns: int,
    members: np.ndarray,  # (rows,) int32: the rows of each node in turn, ascending; regrouped in place
    bounds: np.ndarray,  # (nodes + 1,) where each node's members start
    seeds: np.ndarray,  # (nodes, 2) int64: places of the two seeds among a node's members
    iterations: int,
    tolerance: float,
    threads: int,
) -> None:
    """Regroup the members of each node: its first half (larger by one if odd), then its second half.

    Members are ranked by similarity to the first centroid minus similarity to the second, ties by row number.
    Centroids and halves are updated until the mean similarity of members to their centroid grows by less than
    `tolerance`, or `iterations` times.
    """
    nodes = len(bounds) - 1
    for thread in prange(threads):
        total = np.empty(columns)  # sum of the node's members
        first = np.empty(columns)  # sum of its first half
        axis = np.empty(columns, dtype=np.float32)  # first centroid minus second centroid
        used = np.arange(columns, dtype=np.int32)  # the columns that the node's members have
        seen_by = np.full(columns, -1, dtype=np.int32)  # the last node that used a column
        for node in range(nodes * thread // threads, nodes * (thread + 1) // threads):
            rows = members[bounds[node] : bounds[node + 1]]
            # Any split of two members gives the same two leaves.
            if len(rows) <= 2:
                continue
            count = _mark_used(vectors, rows, node, used, seen_by)
            in_first = np.ones(len(rows), dtype=np.bool_)
            _sum(vectors, rows, in_first, total, used[:count])
            _axis_of_seeds(vectors, rows[seeds[node, 0]], rows[seeds[node, 1]], axis, used[:count])
            differences = np.empty(len(rows), dtype=np.float32)
            before = -np.inf
            for _ in range(iterations):
                _project(vectors, rows, axis, differences)
                _mark_larger_half(differences, in_first)
                _sum(vectors, rows, in_first, first, used[:count])
                now = _update_axis(total, first, axis, used[:count]) / len(rows)
                if now - before < tolerance:
                    break
                before = now
            _regroup(rows, in_first)


@njit(cache=True)
def _mark_used(vectors: Vectors, rows: np.ndarray, node: int, used: np.ndarray, seen_by: np.ndarray) -> int:
    """List the columns of the rows in `used`; returns how many there are."""
    indptr, indices, _, dense = vectors
    if len(dense):
        return len(used)  # all columns are listed from the start
    count = 0
    for row in rows:
        for at in range(indptr[row], indptr[row + 1]):
            column = indices[at]
            if seen_by[column] != node:
                seen_by[column] = node
                used[count] = column
                count += 1
    return count


@njit(cache=True)
def _sum(vectors: Vectors, rows: np.ndarray, marks: np.ndarray, out: np.ndarray, used: np.ndarray) -> None:
    """The sum of the marked rows over the used columns."""
    indptr, indices, data, dense = vectors
    for column in used:
        out[column] = 0
    for place in range(len(rows)):
        if not marks[place]:
            continue
        row = rows[place]
        if len(dense):
            for column in range(dense.shape[1]):
                out[column] += dense[row, column]
        else:
            for at in range(indptr[row], indptr[row + 1]):
                out[indices[at]] += data[at]


@njit(cache=True)
def _axis_of_seeds(vectors: Vectors, one: int, other: int, axis: np.ndarray, used: np.ndarray) -> None:
    indptr, indices, data, dense = vectors
    if len(dense):
        for column in range(dense.shape[1]):
            axis[column] = dense[one, column] - dense[other, column]
        return
    for column in used:
        axis[column] = 0
    for at in range(indptr[one], indptr[one + 1]):
        axis[indices[at]] += data[at]
    for at in range(indptr[other], indptr[other + 1]):
        axis[indices[at]] -= data[at]


# Sums may be reordered, so that several columns of dense rows are multiplied at a time.
@njit(cache=True, fastmath={"reassoc", "contract"})
def _project(vectors: Vectors, rows: np.ndarray, axis: np.ndarray, differences: np.ndarray) -> None:
    """The product of each row with the axis: similarity to the first centroid minus that to the second."""
    indptr, indices, data, dense = vectors
    for place in range(len(rows)):
        row = rows[place]
        product = np.float32(0)
        if len(dense):
            for column in range(dense.shape[1]):
                product += dense[row, column] * axis[column]
        else:
            for at in range(indptr[row], indptr[row + 1]):
                product += data[at] * axis[indices[at]]
        differences[place] = product


@njit(cache=True)
def _mark_larger_half(differences: np.ndarray, marks: np.ndarray) -> None:
    """Mark the half (rounded up) with the largest differences; of equal ones, the first."""
    half = (len(differences) + 1) // 2
    least = np.partition(differences, len(differences) - half)[len(differences) - half]
    larger = 0
    for difference in differences:
        larger += difference > least
    room = half - larger  # for differences equal to the least
    for place in range(len(differences)):
        marks[place] = differences[place] > least
        if differences[place] == least and room > 0:
            marks[place] = True
            room -= 1


@njit(cache=True)
def _update_axis(total: np.ndarray, first: np.ndarray, axis: np.ndarray, used: np.ndarray) -> float:
    """The difference of the new centroids; returns the sum of the members' similarities to their own.

    Members have length 1, so this sum is the length of the first half's sum plus that of the second's.
    """
    first_square, second_square = 0.0, 0.0
    for column in used:
        second = total[column] - first[column]
        first_square += first[column] * first[column]
        second_square += second * second
    first_length, second_length = math.sqrt(first_square), math.sqrt(second_square)
    # A half of empty rows, or one that sums to zero, has no direction.
    by_first = 1 / first_length if first_length > 0 else 0.0
    by_second = 1 / second_length if second_length > 0 else 0.0
    for column in used:
        axis[column] = first[column] * by_first - (total[column] - first[column]) * by_second
    return first_length + second_length


@njit(cache=True)
def _regroup(rows: np.ndarray, marks: np.ndarray) -> None:
    """The marked rows first, then the others, in order."""
    others = rows[~marks]
    place = 0
    for at in range(len(rows)):
        if marks[at]:
            rows[place] = rows[at]
            place += 1
    rows[place:] = others


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def nearest_centroids(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    centroids: np.ndarray,
    first: int,
    last: int,
    nearest: np.ndarray,
) -> float:
    """Fill nearest[first:last] with each vector's most similar centroid; returns the sum of similarities.

    centroids: (columns, clusters). Equal similarities go to the smaller number.
    """
    clusters = centroids.shape[1]
    similarity = np.empty(clusters, dtype=np.float32)
    total = 0.0
    for row in range(first, last):
        for cluster in range(clusters):
            similarity[cluster] = 0
        for p in range(indptr[row], indptr[row + 1]):
            value = data[p]
            column = centroids[indices[p]]
            for cluster in range(clusters):
                similarity[cluster] += value * column[cluster]
        best = 0
        for cluster in range(1, clusters):
            if similarity[cluster] > similarity[best]:
                best = cluster
        nearest[row] = best
        total += similarity[best]
    return total


def mean_directions(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, clusters: np.ndarray, centroids: np.ndarray
) -> None:
    """Fill centroids (columns, clusters) with the sums of the members' vectors, each scaled to length 1."""
    centroids[:] = 0
    _sum_members(indptr, indices, data, clusters, centroids)
    lengths = np.sqrt(np.square(centroids).sum(axis=0, dtype=np.float64))
    centroids *= np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0).astype(np.float32)


@njit(cache=True, nogil=True)
def _sum_members(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, clusters: np.ndarray, centroids: np.ndarray
) -> None:
    for row in range(len(indptr) - 1):
        for p in range(indptr[row], indptr[row + 1]):
            centroids[indices[p], clusters[row]] += data[p]
