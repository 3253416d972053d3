"""Where the words of UTF-8 text to be edited are: their first byte and the byte after their last.

A word starts with a letter or digit and ends with one, or with a mark on one. Joiners (apostrophe, hyphen)
may be inside. The kernels know characters by two tables of classes, of bytes and of code points.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tailwright.kernels.word_tables import key_of, slot_of
from tailwright.kernels.words import MULTIBYTE, decode

OTHER, LETTER, MARK, JOINER, SPACE = 0, 1, 2, 3, 4


@njit(cache=True, nogil=True)
def find_spans(
    values: np.ndarray,
    at: int,
    stop: int,
    byte_classes: np.ndarray,
    point_classes: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
) -> int:
    """Write where the words of `values[at:stop]` start and end; returns how many there are."""
    words, inside = 0, False
    while at < stop:
        kind, width = byte_classes[values[at]], 1
        if kind == MULTIBYTE:
            point, width = decode(values, at, stop)
            kind = point_classes[point]
        if kind == LETTER or (kind == MARK and inside):
            if not inside:
                starts[words] = at
                words += 1
                inside = True
            ends[words - 1] = at + width
        elif kind != JOINER:
            inside = False
        at += width
    return words


@njit(cache=True, nogil=True)
def count_spaced_words(
    values: np.ndarray,
    offsets: np.ndarray,
    first: int,
    last: int,
    byte_classes: np.ndarray,
    point_classes: np.ndarray,
) -> np.ndarray:
    """The number of words of rows first..last-1, separated by white space: `len(text.split())`."""
    counts = np.zeros(last - first, np.int64)
    for row in range(first, last):
        at, stop, inside = offsets[row], offsets[row + 1], False
        while at < stop:
            kind, width = byte_classes[values[at]], 1
            if kind == MULTIBYTE:
                point, width = decode(values, at, stop)
                kind = point_classes[point]
            if kind != SPACE and not inside:
                counts[row - first] += 1
            inside = kind != SPACE
            at += width
    return counts


@njit(cache=True, nogil=True)
def number_of(
    slots: np.ndarray,
    keys: np.ndarray,
    bounds: np.ndarray,
    content: np.ndarray,
    values: np.ndarray,
    start: int,
    end: int,
    letters: np.ndarray,
) -> tuple[np.int64, bool]:
    """(number of the word `values[start:end]` in a table of words or -1, whether it has ASCII capitals).

    The table is as in `words.py`, its words in lower case. A typographic apostrophe counts as a straight one.
    `letters` is scratch space for the bytes that are looked up.
    """
    length, at, capitals = 0, start, False
    while at < end:
        byte = values[at]
        if 0x41 <= byte <= 0x5A:
            byte = np.uint8(byte + 0x20)
            capitals = True
        elif byte == 0xE2 and at + 2 < end and values[at + 1] == 0x80 and values[at + 2] == 0x99:
            byte = np.uint8(0x27)
            at += 2
        letters[length] = byte
        length += 1
        at += 1
    key = key_of(letters, 0, length)
    return np.int64(slots[slot_of(slots, keys, bounds, content, letters, 0, length, key)]), capitals


@njit(cache=True, nogil=True)
def mark_words(
    slots: np.ndarray,
    keys: np.ndarray,
    bounds: np.ndarray,
    content: np.ndarray,
    marked_bounds: np.ndarray,
    marked_content: np.ndarray,
) -> np.ndarray:
    """(words,) bool: which words of a table are among others, given as an Arrow column."""
    marks = np.zeros(len(keys), np.bool_)
    letters = np.empty(len(marked_content), np.uint8)
    for word in range(len(marked_bounds) - 1):
        start, end = marked_bounds[word], marked_bounds[word + 1]
        number, _ = number_of(slots, keys, bounds, content, marked_content, start, end, letters)
        if number >= 0:
            marks[number] = True
    return marks
