"""Word numbers of rows to TF-IDF: sorted sparse rows of unit length.

Serial, without the GIL: each thread runs it over its own rows. Row i has the words
`ids[offsets[i]:offsets[i + 1]]`; a negative id is an unknown word and is skipped.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tailwright.kernels.words import longest_row


@njit(cache=True, nogil=True)
def weigh_rows(
    ids: np.ndarray, offsets: np.ndarray, first: int, last: int, idf: np.ndarray, sublinear: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """TF-IDF of rows first..last-1: (columns int32, weights float32, the end of each row in these).

    Weights are computed in float64 and rounded once.
    """
    room = offsets[last] - offsets[first]
    columns = np.empty(room, np.int32)
    weights = np.empty(room, np.float32)
    ends = np.empty(last - first, np.int64)
    exact = np.empty(longest_row(offsets, first, last), np.float64)
    used = 0
    for row in range(first, last):
        stop = used
        for at in range(offsets[row], offsets[row + 1]):
            if ids[at] >= 0:
                columns[stop] = ids[at]
                stop += 1
        _sort(columns[used:stop])
        start, at, squares = used, used, 0.0
        while at < stop:
            word, begin = columns[at], at
            while at < stop and columns[at] == word:
                at += 1
            count = float(at - begin)
            weight = (1.0 + math.log(count) if sublinear else count) * idf[word]
            columns[used] = word  # never ahead of `at`: the row shrinks in place
            exact[used - start] = weight
            squares += weight * weight
            used += 1
        norm = math.sqrt(squares)
        for at in range(start, used):
            weights[at] = exact[at - start] / norm
        ends[row - first] = used
    return columns[:used], weights[:used], ends


@njit(cache=True, nogil=True)
def _sort(row: np.ndarray) -> None:
    """Sort in place; for titles of a dozen words, as most rows are, the general sort is slower."""
    if len(row) > 32:
        row.sort()
        return
    for i in range(1, len(row)):
        word, at = row[i], i
        while at > 0 and row[at - 1] > word:
            row[at] = row[at - 1]
            at -= 1
        row[at] = word
