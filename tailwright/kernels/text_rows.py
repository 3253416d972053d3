"""Texts to rows of TF-IDF weights in one call: over the words of a table, or over words and their pieces.

What `look_up_words` and `weigh_rows` do, and for pieces the same, without a trip to Python between: of one
text, which takes microseconds, the calls are most of the time. Texts are those of `kernels.words`, tables
those of `kernels.word_tables`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tailwright.kernels.compiling import helper
from tailwright.kernels.tfidf import weigh_row
from tailwright.kernels.word_tables import key_of, slot_of, with_room
from tailwright.kernels.words import row_buffers, scan_row

_BEFORE, _BEHIND = ord("<"), ord(">")  # mark the ends of a word


# No pieces, as `weigh_words_and_pieces` takes them: slots, keys, bounds, content and frequencies.
_NO_PIECES: tuple[Any, ...] = tuple(
    np.zeros(1, dtype) for dtype in (np.int32, np.uint64, np.int64, np.uint8, np.float64)
)
_NO_PIECES[-1].flags.writeable = False  # as frequencies are


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
    letters, words = (lowered_bytes, lowered_points), (slots, keys, bounds, content)
    pieces: tuple[Any, ...] = (*_NO_PIECES, 0, np.float32(1))
    return weigh_words_and_pieces(values, offsets, first, last, *letters, *words, idf, sublinear, *pieces)


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
    letters, ends, row_keys = row_buffers(offsets, first, last)
    most = len(letters) + 2 * len(ends)  # of a row's words or pieces
    row_ends = np.empty(last - first, np.int64)
    arguments: tuple[Any, ...] = (
        *(values, offsets, first, last, lowered_bytes, lowered_points, letters, ends, row_keys),
        *(slots, keys, bounds, content, idf, sublinear),
        *(piece_slots, piece_keys, piece_bounds, piece_content, piece_idf, length, scale),
        *(np.empty(len(ends), np.int32), np.empty(most, np.int32), np.empty(most, np.float64)),
        *(np.empty(len(letters) + 2, np.uint8), np.empty(len(letters) + 3, np.int64)),
        row_ends,
    )
    columns, weights = _weigh(*arguments)
    return columns, weights, row_ends


@njit(cache=True, nogil=True)
def _weigh(
    values: np.ndarray,
    offsets: np.ndarray,
    first: int,
    last: int,
    lowered_bytes: np.ndarray,
    lowered_points: np.ndarray,
    letters: np.ndarray,
    ends: np.ndarray,
    row_keys: np.ndarray,
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
    words: np.ndarray,  # scratch: the words of a row
    pieces: np.ndarray,  # scratch: the pieces of a row
    exact: np.ndarray,  # scratch: the weights of a row
    marked: np.ndarray,  # scratch: a word between its marks
    starts: np.ndarray,  # scratch: where its letters start
    row_ends: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    columns, weights = np.empty(256, np.int32), np.empty(256, np.float32)
    used = np.int64(0)
    for row in range(first, last):
        count = scan_row(
            values, offsets[row], offsets[row + 1], lowered_bytes, lowered_points, letters, ends, row_keys
        )
        cut = np.int64(0)
        for i in range(count):
            words[i] = slots[
                slot_of(slots, keys, bounds, content, letters, ends[i], ends[i + 1], row_keys[i])
            ]
            if length > 0:
                size = _mark_word(letters, ends[i], ends[i + 1], marked, starts)
                for p in range(max(1, size - length + 1)):
                    start, end = starts[p], starts[min(p + length, size)]
                    key = key_of(marked, start, end)
                    pieces[cut] = piece_slots[
                        slot_of(piece_slots, piece_keys, piece_bounds, piece_content, marked, start, end, key)
                    ]
                    cut += 1
        columns = with_room(columns, used, used + count + cut)
        weights = with_room(weights, used, used + count + cut)
        used = weigh_row(
            *(words, count, idf, sublinear, np.int64(0), np.float32(1), exact, columns, weights, used)
        )
        shift, sublinear_pieces = len(bounds) - 1, length > 0  # always; a constant is compiled for itself
        used = weigh_row(
            *(pieces, cut, piece_idf, sublinear_pieces, shift, scale, exact, columns, weights, used)
        )
        row_ends[row - first] = used
    return columns[:used], weights[:used]


@helper
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
