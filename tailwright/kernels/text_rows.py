"""Texts to rows of TF-IDF weights in one call: over the words of a table, or over words and their pieces.

What `look_up_words` and `weigh_rows` do, and for pieces the same, without a trip to Python between: of one
text, which takes microseconds, the calls are most of the time. Texts and tables are those of `kernels.words`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tailwright.kernels.tfidf import put_side_by_side, weigh_rows
from tailwright.kernels.words import key_of, look_up_words, row_buffers, scan_row, slot_of, with_room

_BEFORE, _BEHIND = ord("<"), ord(">")  # mark the ends of a word


@njit(cache=True, nogil=True)
def weigh_words(
    values: np.ndarray,
    offsets: np.ndarray,
    first: int,
    last: int,
    lowered_bytes: np.ndarray,
    lowered_points: np.ndarray,
    slots: np.ndarray,
    keys: np.ndarray,
    bounds: np.ndarray,
    content: np.ndarray,
    idf: np.ndarray,
    sublinear: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(columns int32, weights float32, the end of each row in these) of texts first..last - 1."""
    ids, ends = look_up_words(
        values, offsets, first, last, lowered_bytes, lowered_points, slots, keys, bounds, content
    )
    return weigh_rows(ids, _with_start(ends), 0, last - first, idf, sublinear)


@njit(cache=True, nogil=True)
def weigh_words_and_pieces(
    values: np.ndarray,
    offsets: np.ndarray,
    first: int,
    last: int,
    lowered_bytes: np.ndarray,
    lowered_points: np.ndarray,
    slots: np.ndarray,
    keys: np.ndarray,
    bounds: np.ndarray,
    content: np.ndarray,
    idf: np.ndarray,
    sublinear: bool,
    piece_slots: np.ndarray,
    piece_keys: np.ndarray,
    piece_bounds: np.ndarray,
    piece_content: np.ndarray,
    piece_idf: np.ndarray,
    length: int,
    scale: np.float32,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same, with the pieces of `length` letters behind the words, multiplied by `scale`."""
    words = np.empty(256, np.int32)
    pieces = np.empty(256, np.int32)
    word_ends = np.zeros(last - first + 1, np.int64)
    piece_ends = np.zeros(last - first + 1, np.int64)
    letters, ends, row_keys = row_buffers(offsets, first, last)
    marked = np.empty(len(letters) + 2, np.uint8)
    starts = np.empty(len(letters) + 3, np.int64)
    known, cut = 0, 0
    for row in range(first, last):
        count = scan_row(
            values, offsets[row], offsets[row + 1], lowered_bytes, lowered_points, letters, ends, row_keys
        )
        words = with_room(words, known, known + count)
        for i in range(count):
            words[known] = slots[
                slot_of(slots, keys, bounds, content, letters, ends[i], ends[i + 1], row_keys[i])
            ]
            known += 1
            if length > 0:
                size = _mark_word(letters, ends[i], ends[i + 1], marked, starts)
                pieces = with_room(pieces, cut, cut + size)
                for p in range(max(1, size - length + 1)):
                    start, end = starts[p], starts[min(p + length, size)]
                    key = key_of(marked, start, end)
                    pieces[cut] = piece_slots[
                        slot_of(piece_slots, piece_keys, piece_bounds, piece_content, marked, start, end, key)
                    ]
                    cut += 1
        word_ends[row - first + 1] = known
        piece_ends[row - first + 1] = cut
    left, left_weights, left_ends = weigh_rows(words, word_ends, 0, last - first, idf, sublinear)
    right, right_weights, right_ends = weigh_rows(pieces, piece_ends, 0, last - first, piece_idf, True)
    columns = np.empty(len(left) + len(right), np.int32)
    weights = np.empty(len(left) + len(right), np.float32)
    row_ends = np.empty(last - first, np.int64)
    put_side_by_side(
        *(_with_start(left_ends), left, left_weights, 0, right, right_weights, right_ends),
        *(len(bounds) - 1, scale, columns, weights, row_ends),
    )
    return columns, weights, row_ends


@njit(cache=True, nogil=True)
def _mark_word(letters: np.ndarray, start: int, end: int, marked: np.ndarray, starts: np.ndarray) -> int:
    """Put `letters[start:end]` between < and > into `marked`; returns how many letters that has.

    Letter i of it is `marked[starts[i]:starts[i + 1]]`.
    """
    marked[0] = _BEFORE
    starts[0] = 0
    at, size = 1, 1
    for i in range(start, end):
        if letters[i] & 0xC0 != 0x80:  # any other byte goes on with a letter
            starts[size] = at
            size += 1
        marked[at] = letters[i]
        at += 1
    marked[at] = _BEHIND
    starts[size] = at
    starts[size + 1] = at + 1
    return size + 1


@njit(cache=True, nogil=True)
def _with_start(ends: np.ndarray) -> np.ndarray:
    """(rows + 1,): the ends of rows, behind the start of the first."""
    offsets = np.zeros(len(ends) + 1, np.int64)
    offsets[1:] = ends
    return offsets
