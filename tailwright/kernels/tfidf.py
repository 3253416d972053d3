"""Bags of words and word pieces with TF-IDF weights: made from texts, put side by side, joined.

Row i has the words `ids[offsets[i]:offsets[i + 1]]`; a negative id is an unknown word and is skipped. Kernels
over rows first..last-1 are serial and release the GIL: each thread runs them over its own rows.
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
        sort_ids(columns[used:stop])
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
def sort_ids(row: np.ndarray) -> None:
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


@njit(cache=True, nogil=True)
def pieces_of_rows(
    ids: np.ndarray, offsets: np.ndarray, first: int, last: int, piece_ends: np.ndarray, pieces: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(pieces int32, offsets int64) of rows first..last - 1, in the order of their words.

    Row i has the words `ids[offsets[i]:offsets[i + 1]]`, word w the pieces
    `pieces[piece_ends[w]:piece_ends[w + 1]]`; negative pieces are kept.
    """
    starts = np.zeros(last - first + 1, np.int64)
    for row in range(first, last):
        count = 0
        for at in range(offsets[row], offsets[row + 1]):
            count += piece_ends[ids[at] + 1] - piece_ends[ids[at]]
        starts[row - first + 1] = starts[row - first] + count
    row_pieces = np.empty(starts[-1], np.int32)
    place = 0
    for at in range(offsets[first], offsets[last]):
        for p in range(piece_ends[ids[at]], piece_ends[ids[at] + 1]):
            row_pieces[place] = pieces[p]
            place += 1
    return row_pieces, starts


@njit(cache=True, nogil=True)
def put_side_by_side(
    left_indptr: np.ndarray,
    left_indices: np.ndarray,
    left_data: np.ndarray,
    first: int,
    right_indices: np.ndarray,
    right_data: np.ndarray,
    right_ends: np.ndarray,
    shift: int,
    scale: np.float32,
    indices: np.ndarray,
    data: np.ndarray,
    ends: np.ndarray,
) -> None:
    """Fill a block of a CSR matrix: rows of the left matrix from `first` on, and `scale` times the right one.

    Columns of the right matrix are shifted by `shift`.
    """
    at, done = 0, 0
    for row in range(len(right_ends)):
        for p in range(left_indptr[first + row], left_indptr[first + row + 1]):
            indices[at], data[at] = left_indices[p], left_data[p]
            at += 1
        for p in range(done, right_ends[row]):
            indices[at], data[at] = right_indices[p] + shift, right_data[p] * scale
            at += 1
        done = right_ends[row]
        ends[row] = at


@njit(cache=True)
def join_bags(
    indptr: np.ndarray,
    words: np.ndarray,
    weights: np.ndarray,
    rows: np.ndarray,
    other_indptr: np.ndarray,
    other_words: np.ndarray,
    other_weights: np.ndarray,
    appended: np.ndarray,
    idf: np.ndarray,
    kinds: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(indptr, words, weights) of the bags at `rows`, each with the other bag at `appended` (-1: none).

    A word with c occurrences has the weight (1 + ln c) idf, divided by the length of all weights of its kind.
    For a word that occurs once, weight / idf is one over that length, and no word has less. So the smallest
    such ratio gives the counts back; the counts are added, and their sums weighted again.
    Words ascend in every bag. Words of kind k are kinds[k]..kinds[k + 1] - 1; each kind is scaled by itself.
    """
    most = 0
    for i in range(len(rows)):
        most += indptr[rows[i] + 1] - indptr[rows[i]]
        if appended[i] >= 0:
            most += other_indptr[appended[i] + 1] - other_indptr[appended[i]]
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    joined = np.empty(most, dtype=np.int32)
    values = np.empty(most, dtype=np.float32)
    at = 0
    for i in range(len(rows)):
        p, p_end = indptr[rows[i]], indptr[rows[i] + 1]
        if appended[i] < 0:
            for source in range(p, p_end):
                joined[at] = words[source]
                values[at] = weights[source]
                at += 1
        else:
            q, q_end = other_indptr[appended[i]], other_indptr[appended[i] + 1]
            for kind in range(len(kinds) - 1):
                border = kinds[kind + 1]
                p_next, once, length = _measured(words, weights, p, p_end, border, idf)
                q_next, other_once, other_length = _measured(
                    other_words, other_weights, q, q_end, border, idf
                )
                first, squares = at, 0.0
                while p < p_next or q < q_next:
                    mine = words[p] if p < p_next else border
                    other = other_words[q] if q < q_next else border
                    word = min(mine, other)
                    count = 0.0
                    if mine == word:
                        count += np.exp(weights[p] / (idf[word] * once) - 1)
                        p += 1
                    if other == word:
                        count += np.exp(other_weights[q] / (idf[word] * other_once) - 1)
                        q += 1
                    weight = (1 + np.log(count)) * idf[word]
                    joined[at], values[at] = word, weight
                    squares += weight * weight
                    at += 1
                if at > first:
                    # Both lengths are those that the features give to this kind; an absent kind has length 0.
                    scale = max(length, other_length) / np.sqrt(squares)
                    for place in range(first, at):
                        values[place] *= scale
        starts[i + 1] = at
    return starts, joined[:at], values[:at]


@njit(cache=True)
def _measured(
    words: np.ndarray, weights: np.ndarray, start: int, end: int, border: int, idf: np.ndarray
) -> tuple[int, float, float]:
    """(end of the words below `border`, weight / idf of a word that occurs once, length of the weights)."""
    once, squares, p = np.inf, 0.0, start
    while p < end and words[p] < border:
        weight = np.float64(weights[p])
        once = min(once, weight / idf[words[p]])
        squares += weight * weight
        p += 1
    return p, once, np.sqrt(squares)
