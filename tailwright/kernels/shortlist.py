"""Kernels of shortlists: the candidates of a row, their scores and loss, sums of lists.

A shortlist is a padded row of label ids (-1 behind the last) with scores. Scratch space is a few arrays over
all labels for each thread. One thread works on a row, in a fixed order, so thread counts change nothing.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True, parallel=True, fastmath={"contract", "reassoc"})
def pair_scores(
    indptr: np.ndarray,  # (rows + 1,)
    labels: np.ndarray,  # (pairs,)
    queries: np.ndarray,  # (rows, width) float32
    table: np.ndarray,  # (labels, width) float32
    scores: np.ndarray,  # (pairs,) float32, filled
) -> None:
    """scores[p] = the dot product of the pair's row of `queries` and its label's row of `table`."""
    for row in prange(len(indptr) - 1):
        query = queries[row]
        for p in range(indptr[row], indptr[row + 1]):
            vector = table[labels[p]]
            total = np.float32(0)
            for d in range(len(query)):
                total += query[d] * vector[d]
            scores[p] = total


@njit(cache=True, parallel=True, fastmath={"contract", "reassoc"})
def candidate_pass(
    starts: np.ndarray,  # (labels + 1,): where each label's pairs start
    rows: np.ndarray,  # (pairs,)
    targets: np.ndarray,  # (pairs,) float32
    weights: np.ndarray,  # (rows,) float32
    factors: np.ndarray,  # (pairs,) float32: on the weight of the row; or empty
    queries: np.ndarray,  # (rows, width) float32
    table: np.ndarray,  # (labels, width) float32
    row_gradients: np.ndarray,  # (blocks, rows, width) float32, zeros
    table_gradient: np.ndarray,  # (labels, width) float32, zeros
) -> float:
    """The weighted cross-entropy of all pairs and its gradients, in one pass over the table.

    Pairs are sorted by label: each row of the table is read once while the queries stay in the cache. The
    labels are worked on in as many blocks as `row_gradients` has. This number, not that of the threads, sets
    the order in which a query's gradient is summed.
    """
    labels, blocks = len(starts) - 1, len(row_gradients)
    losses = np.zeros(blocks)
    for block in prange(blocks):
        for label in range(labels * block // blocks, labels * (block + 1) // blocks):
            vector, vector_gradient = table[label], table_gradient[label]
            for p in range(starts[label], starts[label + 1]):
                row = rows[p]
                weight = weights[row] * factors[p] if len(factors) else weights[row]
                query, query_gradient = queries[row], row_gradients[block, row]
                score = np.float32(0)
                for d in range(len(query)):
                    score += query[d] * vector[d]
                small = np.exp(-abs(score))
                probability = (np.float32(1) if score >= 0 else small) / (1 + small)
                softplus = np.log1p(small) + max(score, np.float32(0))
                losses[block] += weight * (softplus - targets[p] * score)
                gradient = np.float32(weight * (probability - targets[p]))
                for d in range(len(query)):
                    vector_gradient[d] += gradient * query[d]
                    query_gradient[d] += gradient * vector[d]
    return losses.sum()


@njit(cache=True)
def candidate_lists(
    ends: np.ndarray,  # (rows + 1,): where each row's positives start
    positives: np.ndarray,  # (pairs,) labels
    values: np.ndarray,  # (pairs,) float32 soft targets
    keys: np.ndarray,  # (pairs,) random: positives with the smallest keys stay where there are too many
    most: int,  # positives of a row
    lists: np.ndarray,  # (rows, width) int32, -1 for none
    drawn: np.ndarray,  # (rows, some) int32: labels that fill the list up
    ignored_ends: np.ndarray,
    ignored: np.ndarray,
    size: int,  # of a row's list, its positives included
    labels: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(starts, labels, targets) of each row's candidates: positives, then its list, then the labels drawn.

    A label is a row's candidate once. Ignored labels are no candidates; a positive beyond `most` is not used
    as a negative either.
    """
    rows = len(ends) - 1
    starts = np.zeros(rows + 1, dtype=np.int64)
    candidates = np.empty(rows * size, dtype=np.int32)
    targets = np.empty(rows * size, dtype=np.float32)
    seen_by = np.full(labels, -1, dtype=np.int32)  # the last row that has met a label
    count = 0
    for row in range(rows):
        full = count + size
        for p in range(ignored_ends[row], ignored_ends[row + 1]):
            seen_by[ignored[p]] = row
        order = np.argsort(keys[ends[row] : ends[row + 1]])
        limit = min(full, count + most)
        for place in order:
            p = ends[row] + place
            label = positives[p]
            if seen_by[label] == row:
                continue
            seen_by[label] = row
            if count < limit:
                candidates[count] = label
                targets[count] = values[p]
                count += 1
        for source in (lists[row], drawn[row]):
            for label in source:
                if label < 0 or seen_by[label] == row or count == full:
                    continue
                seen_by[label] = row
                candidates[count] = label
                targets[count] = 0
                count += 1
        starts[row + 1] = count
    return starts, candidates[:count], targets[:count]


@njit(cache=True, parallel=True)
def point_votes(
    points: np.ndarray,  # (rows, neighbours) int32, -1 for none
    similarities: np.ndarray,  # (rows, neighbours) float32
    indptr: np.ndarray,  # labels of the points, as CSR
    indices: np.ndarray,
    data: np.ndarray,
    labels: int,
    threads: int,
    ids: np.ndarray,  # (rows, k), filled with -1
    scores: np.ndarray,  # (rows, k), filled with minus infinity
) -> None:
    """Each near point votes for its labels with its similarity: the k best, divided by the row's largest."""
    rows = len(points)
    for thread in prange(threads):
        total = np.zeros(labels, dtype=np.float32)
        touched = np.empty(labels, dtype=np.int32)
        for row in range(rows * thread // threads, rows * (thread + 1) // threads):
            count = 0
            for n in range(points.shape[1]):
                point = points[row, n]
                if point < 0 or similarities[row, n] <= 0:
                    continue
                for p in range(indptr[point], indptr[point + 1]):
                    label = indices[p]
                    vote = similarities[row, n] * data[p]
                    if vote <= 0:
                        continue
                    if total[label] == 0:
                        touched[count] = label
                        count += 1
                    total[label] += vote
            largest = np.float32(0)
            for t in range(count):
                largest = max(largest, total[touched[t]])
            for t in range(count):
                total[touched[t]] /= largest
            _rank(touched[:count], total, ids[row], scores[row])
            for t in range(count):
                total[touched[t]] = 0


@njit(cache=True, parallel=True)
def add_lists(
    ids: np.ndarray,  # (lists, rows, width) int32, -1 for none
    values: np.ndarray,  # (lists, rows, width) float32
    weights: np.ndarray,  # (lists,) float32
    labels: int,
    threads: int,
    best: np.ndarray,  # (rows, k), filled with -1
    scores: np.ndarray,  # (rows, k), filled with minus infinity
) -> None:
    """The k best labels of each row by the weighted sum of lists; a list counts 0 for what it lacks."""
    rows = ids.shape[1]
    for thread in prange(threads):
        total = np.zeros(labels, dtype=np.float32)
        touched = np.empty(labels, dtype=np.int32)
        seen_by = np.full(labels, -1, dtype=np.int32)
        for row in range(rows * thread // threads, rows * (thread + 1) // threads):
            count = 0
            for one in range(len(ids)):
                for place in range(ids.shape[2]):
                    label = ids[one, row, place]
                    if label < 0:
                        continue
                    if seen_by[label] != row:
                        seen_by[label] = row
                        total[label] = 0
                        touched[count] = label
                        count += 1
                    total[label] += weights[one] * values[one, row, place]
            _rank(touched[:count], total, best[row], scores[row])


@njit(cache=True)
def _rank(touched: np.ndarray, total: np.ndarray, ids: np.ndarray, scores: np.ndarray) -> None:
    """Fill a row with the labels of the largest totals, equal ones by smaller label."""
    by_label = np.sort(touched)
    falling = np.argsort(-total[by_label], kind="mergesort")
    for place in range(min(len(ids), len(falling))):
        label = by_label[falling[place]]
        ids[place] = label
        scores[place] = total[label]
