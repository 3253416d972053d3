"""Bags of words and word pieces with TF-IDF weights: made from words, joined.

Row i has the words `ids[offsets[i]:offsets[i + 1]]`; a negative id is an unknown word and is skipped. Kernels
over rows first..last-1 are serial and release the GIL: each thread runs them over its own rows.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tailwright.kernels.compiling import helper


def weigh_rows(
    ids: np.ndarray, offsets: np.ndarray, first: int, last: int, idf: np.ndarray, sublinear: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """TF-IDF of rows first..last-1: (columns int32, weights float32, the end of each row in these)."""
    room = int(offsets[last] - offsets[first])
    columns, weights = np.empty(room, np.int32), np.empty(room, np.float32)
    ends = np.empty(last - first, np.int64)
    longest = int(np.diff(offsets[first : last + 1]).max(initial=0))
    scratch = np.empty(longest, np.int32), np.empty(longest, np.float64)
    used = _weigh_rows(ids, offsets, first, idf, sublinear, *scratch, columns, weights, ends)
    return columns[:used], weights[:used], ends


@njit(cache=True, nogil=True)
def _weigh_rows(
    ids: np.ndarray,
    offsets: np.ndarray,
    first: int,
    idf: np.ndarray,
    sublinear: bool,
    row_ids: np.ndarray,  # scratch, as long as the longest row
    exact: np.ndarray,  # scratch, as long as the longest row
    columns: np.ndarray,
    weights: np.ndarray,
    ends: np.ndarray,
) -> np.int64:
    used = np.int64(0)  # a literal 0 is compiled for itself
    for row in range(len(ends)):
        start, count = offsets[first + row], offsets[first + row + 1] - offsets[first + row]
        for i in range(count):
            row_ids[i] = ids[start + i]
        used = weigh_row(
            *(row_ids, count, idf, sublinear, np.int64(0), np.float32(1), exact, columns, weights, used)
        )
        ends[row] = used
    return used


@helper
def weigh_row(
    ids: np.ndarray,  # its first `count` are those of the row; reordered
    count: int,
    idf: np.ndarray,
    sublinear: bool,
    shift: int,
    scale: np.float32,
    exact: np.ndarray,  # (count,) float64: scratch
    columns: np.ndarray,
    weights: np.ndarray,
    used: int,
) -> int:
    """Write the row's columns, shifted by `shift`, and `scale` times its weights behind the `used` ones.

    Returns how many are used then. Weights are computed in float64 and rounded once.
    """
    known = 0
    for i in range(count):
        if ids[i] >= 0:
            ids[known] = ids[i]
            known += 1
    sort_ids(ids[:known])
    distinct, at, squares = 0, 0, 0.0
    while at < known:
        word, begin = ids[at], at
        while at < known and ids[at] == word:
            at += 1
        occurrences = float(at - begin)
        weight = (1.0 + math.log(occurrences) if sublinear else occurrences) * idf[word]
        columns[used + distinct] = word + shift
        exact[distinct] = weight
        squares += weight * weight
        distinct += 1
    norm = math.sqrt(squares)
    for i in range(distinct):
        weights[used + i] = np.float32(exact[i] / norm) * scale
    return used + distinct


@helper
def sort_ids(row: np.ndarray) -> None:
    """Sort in place, by Shell's method: most rows are short, and `sort` takes a second to compile."""
    gap = 1
    while 9 * gap < len(row):
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, len(row)):
            word, at = row[i], i
            while at >= gap and row[at - gap] > word:
                row[at] = row[at - gap]
                at -= gap
            row[at] = word
        gap //= 3


def pieces_of_rows(
    ids: np.ndarray, offsets: np.ndarray, first: int, last: int, piece_ends: np.ndarray, pieces: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(pieces int32, offsets int64) of rows first..last - 1, in the order of their words.

    Row i has the words `ids[offsets[i]:offsets[i + 1]]`, word w the pieces
    `pieces[piece_ends[w]:piece_ends[w + 1]]`; negative pieces are kept.
    """
    bounds = offsets[first : last + 1]
    words = ids[bounds[0] : bounds[-1]]
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(piece_ends)[words])])  # of words
    row_pieces = np.empty(ends[-1], np.int32)
    _copy_pieces(words, piece_ends, pieces, row_pieces)
    return row_pieces, ends[bounds - bounds[0]]


@njit(cache=True, nogil=True)
def _copy_pieces(
    words: np.ndarray, piece_ends: np.ndarray, pieces: np.ndarray, row_pieces: np.ndarray
) -> None:
    place = 0
    for i in range(len(words)):
        for p in range(piece_ends[words[i]], piece_ends[words[i] + 1]):
            row_pieces[place] = pieces[p]
            place += 1


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
