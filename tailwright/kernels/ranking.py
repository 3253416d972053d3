"""Kernels for rankings: the best k labels of each row, from sparse or dense scores.

Each row keeps a heap of its k best so far, the worst on top, so a row costs O(labels log k) and no memory but
its k places. Better means a higher score, or the same score and a smaller label id.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tailwright.kernels.blocks import run_rows
from tailwright.kernels.compiling import helper

Score = float | np.floating
_AT_ONCE = 64  # scores that are looked at together
_FEWEST_ROWS = 64  # of a block: below this a thread costs more than it saves


@njit(cache=True, nogil=True)
def find_label(indices: np.ndarray, start: int, end: int, label: int) -> int:
    """The place of `label` in the sorted `indices[start:end]`, or -1."""
    low, high = start, end
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < label:
            low = middle + 1
        else:
            high = middle
    return low if low < end and indices[low] == label else -1


@helper
def better(score: Score, label: int, other_score: Score, other_label: int) -> bool:
    """The order of a ranking: higher scores first, equal scores by smaller label."""
    return bool(score > other_score) or (bool(score == other_score) and label < other_label)


@helper
def insert(labels: np.ndarray, scores: np.ndarray, filled: int, label: int, score: Score) -> int:
    """Put a label into a sorted list that keeps the best `len(labels)`; returns how many it holds now."""
    size = len(labels)
    if filled == size and (size == 0 or not better(score, label, scores[size - 1], labels[size - 1])):
        return filled
    place = min(filled, size - 1)
    while place > 0 and better(score, label, scores[place - 1], labels[place - 1]):
        scores[place] = scores[place - 1]
        labels[place] = labels[place - 1]
        place -= 1
    scores[place] = score
    labels[place] = label
    return min(filled + 1, size)


@helper
def _sift_down(labels: np.ndarray, scores: np.ndarray, size: int) -> None:
    """Move the entry at the top of the heap down to its place."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            return
        right = child + 1
        if right < size and better(scores[child], labels[child], scores[right], labels[right]):
            child = right
        if not better(scores[place], labels[place], scores[child], labels[child]):
            return
        labels[place], labels[child] = labels[child], labels[place]
        scores[place], scores[child] = scores[child], scores[place]
        place = child


@helper
def offer(labels: np.ndarray, scores: np.ndarray, size: int, label: int, score: Score) -> int:
    """Put an entry on the heap, dropping the worst if the heap is full; returns the new size."""
    if size == len(labels):
        labels[0], scores[0] = label, score
        _sift_down(labels, scores, size)
        return size
    place = size
    labels[place], scores[place] = label, score
    while place > 0:
        parent = (place - 1) // 2
        if not better(scores[parent], labels[parent], scores[place], labels[place]):
            break
        labels[place], labels[parent] = labels[parent], labels[place]
        scores[place], scores[parent] = scores[parent], scores[place]
        place = parent
    return size + 1


@helper
def best_first(labels: np.ndarray, scores: np.ndarray, size: int) -> None:
    """Turn the heap into a ranking, best first."""
    for last in range(size - 1, 0, -1):
        labels[0], labels[last] = labels[last], labels[0]
        scores[0], scores[last] = scores[last], scores[0]
        _sift_down(labels, scores, last)


def top_k(
    indptr: np.ndarray,  # (rows + 1,)
    indices: np.ndarray,  # (stored,); or empty: then a row stores every label, in order
    data: np.ndarray,  # (stored,)
    skip_indptr: np.ndarray,  # (rows + 1,)
    skip_indices: np.ndarray,  # sorted in each row
    labels: np.ndarray,  # (rows, k), filled with -1
    scores: np.ndarray,  # (rows, k), filled with -inf
    has_nan: np.ndarray,  # (rows,) bool, filled with False
) -> None:
    """Rank the stored entries of each row into `labels` and `scores`, best first."""
    arrays = indptr, indices, data, skip_indptr, skip_indices, labels, scores, has_nan
    run_rows(lambda first, last: _top_k(*arrays, first, last), len(labels), _FEWEST_ROWS)


@njit(cache=True, nogil=True)
def _top_k(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    skip_indptr: np.ndarray,
    skip_indices: np.ndarray,
    labels: np.ndarray,
    scores: np.ndarray,
    has_nan: np.ndarray,
    first: int,
    last: int,
) -> None:
    for row in range(first, last):
        size, start = np.int64(0), indptr[row]
        entries = data[start : indptr[row + 1]]
        for place in range(len(entries)):
            score = entries[place]
            if score != score:  # noqa: PLR0124 (NaN)
                has_nan[row] = True
                break
            if size == labels.shape[1] and score < scores[row, 0]:
                continue
            label = indices[start + place] if len(indices) else place
            if size == labels.shape[1] and not better(score, label, scores[row, 0], labels[row, 0]):
                continue
            if find_label(skip_indices, skip_indptr[row], skip_indptr[row + 1], label) < 0:
                size = offer(labels[row], scores[row], size, label, score)
        best_first(labels[row], scores[row], size)


def keep_best(
    block: np.ndarray,  # (rows, block)
    start: int,
    labels: np.ndarray,  # (rows, k), filled with -1 before the first block
    scores: np.ndarray,  # (rows, k), filled with -inf
    has_nan: np.ndarray,  # (rows,) bool, filled with False
) -> None:
    """Take the scores of labels start, start + 1, ... into heaps of the k best, after all labels before."""
    arrays = block, start, labels, scores, has_nan
    run_rows(lambda first, last: _keep_best(*arrays, first, last), len(block), _FEWEST_ROWS)


@njit(cache=True, nogil=True)
def _keep_best(
    block: np.ndarray,
    start: int,
    labels: np.ndarray,
    scores: np.ndarray,
    has_nan: np.ndarray,
    first_row: int,
    last_row: int,
) -> None:
    for row in range(first_row, last_row):
        size = min(start, labels.shape[1])
        for first in range(0, block.shape[1], _AT_ONCE):
            some = block[row, first : first + _AT_ONCE]
            if size == labels.shape[1]:
                # Most stretches hold nothing that is good enough: without an exit this is vector code.
                worst, hits = scores[row, 0], 0
                for i in range(len(some)):
                    hits += not some[i] < worst  # so it is for NaN
                if hits == 0:
                    continue
            for i in range(len(some)):
                score, label = some[i], start + first + i
                if score != score:  # noqa: PLR0124 (NaN)
                    has_nan[row] = True
                elif size < labels.shape[1] or better(score, label, scores[row, 0], labels[row, 0]):
                    size = offer(labels[row], scores[row], size, label, score)


@njit(cache=True, nogil=True)
def rank_kept(labels: np.ndarray, scores: np.ndarray, size: int) -> None:
    """Turn heaps of `size` labels into rankings, best first."""
    for row in range(len(labels)):
        best_first(labels[row], scores[row], size)
