"""Words of UTF-8 text, lower-cased and numbered by content, a block of rows at a time.

All kernels are serial and release the GIL: each thread runs one over its own rows. Texts have Arrow's layout:
`values` are the bytes of all rows, row i is `values[offsets[i]:offsets[i + 1]]`.

Tables of words are those of `kernels.word_tables`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tailwright.kernels.compiling import helper
from tailwright.kernels.word_tables import BYTE, NO_BYTES, SPREAD, TOP_BYTE, slot_of, spread, with_room

MULTIBYTE = 255  # in the table of bytes: not ASCII, look the code point up
CODE_POINTS = 0x110000


@njit(cache=True, nogil=True)
def mark_context_letters(
    values: np.ndarray, offsets: np.ndarray, first: int, last: int, marks: np.ndarray
) -> int:
    """Mark the rows with U+0130 (bytes C4 B0) or U+03A3 (bytes CE A3); returns their number."""
    marked = 0
    for row in range(first, last):
        text = values[offsets[row] : offsets[row + 1]]
        held = False
        for i in range(len(text) - 1):  # no early exit, so that it compiles to vector instructions
            held |= ((text[i] == 0xC4) & (text[i + 1] == 0xB0)) | ((text[i] == 0xCE) & (text[i + 1] == 0xA3))
        marks[row] = held
        marked += held
    return marked


@helper
def decode(values: np.ndarray, at: int, stop: int) -> tuple[np.int64, int]:
    """(code point, bytes) of the multi-byte character at `at`; (0, 1) if it is cut off or not UTF-8."""
    lead = np.int64(values[at])
    width = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    if lead < 0xC0 or at + width > stop:
        return np.int64(0), 1
    point = lead & (0x7F >> width)
    for i in range(1, width):
        point = (point << 6) | (np.int64(values[at + i]) & 0x3F)
    if point >= CODE_POINTS:
        return np.int64(0), 1
    return point, width


@helper
def _byte_of(point: np.int64, width: int, i: int) -> np.uint8:
    """Byte i of a code point that takes `width` bytes in UTF-8."""
    bits = point >> (6 * (width - 1 - i))
    if i > 0:
        return np.uint8(0x80 | (bits & 0x3F))
    return np.uint8(bits) if width == 1 else np.uint8((0xF00 >> width) & 0xFF | bits)


@helper
def scan_row(
    values: np.ndarray,
    at: int,
    stop: int,
    lowered_bytes: np.ndarray,
    lowered_points: np.ndarray,
    letters: np.ndarray,
    ends: np.ndarray,
    keys: np.ndarray,
) -> int:
    """Write the words of `values[at:stop]`, lower-cased and without gaps, to `letters`; returns their number.

    Word w is `letters[ends[w]:ends[w + 1]]` and has the key `keys[w]`. `letters` must have room for twice the
    bytes of the row: U+023A grows from two bytes to three.
    """
    words, begin, end = 0, 0, 0
    ends[0] = 0
    last_eight, before = NO_BYTES, NO_BYTES  # of the word so far: its last bytes, a hash of the others
    while at < stop:
        low = lowered_bytes[values[at]]
        at += 1
        if low == MULTIBYTE:
            point, width = decode(values, at - 1, stop)
            at += width - 1
            letter = np.int64(lowered_points[point])
            width = 1 if letter < 0x80 else 2 if letter < 0x800 else 3 if letter < 0x10000 else 4
            for i in range(width - 1):
                low = _byte_of(letter, width, i)
                letters[end] = low
                end += 1
                before = (before ^ (last_eight >> TOP_BYTE)) * SPREAD
                last_eight = (last_eight << BYTE) | np.uint64(low)
            low = _byte_of(letter, width, width - 1)  # 0 if this is no letter
        if low != 0:
            letters[end] = low
            end += 1
            before = (before ^ (last_eight >> TOP_BYTE)) * SPREAD
            last_eight = (last_eight << BYTE) | np.uint64(low)
        elif end > begin:
            keys[words] = last_eight ^ before
            words += 1
            ends[words] = begin = end
            last_eight, before = NO_BYTES, NO_BYTES
    if end > begin:
        keys[words] = last_eight ^ before
        words += 1
        ends[words] = end
    return words


def learn_words(
    values: np.ndarray,
    offsets: np.ndarray,
    first: int,
    last: int,
    lowered_bytes: np.ndarray,
    lowered_points: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The words of rows first..last-1, numbered in order of first occurrence.

    Returns (ids of all words in text order, the end of each row in these, keys, bounds, content).
    """
    ids, row_ends = _id_buffers(offsets, first, last)
    letters = lowered_bytes, lowered_points, *row_buffers(offsets, first, last)
    total, keys, bounds, content = _learn_words(values, offsets, first, last, *letters, ids, row_ends)
    return ids[:total], row_ends, keys, bounds, content


@njit(cache=True, nogil=True)
def _learn_words(
    values: np.ndarray,
    offsets: np.ndarray,
    first: int,
    last: int,
    lowered_bytes: np.ndarray,
    lowered_points: np.ndarray,
    letters: np.ndarray,
    ends: np.ndarray,
    row_keys: np.ndarray,
    ids: np.ndarray,
    row_ends: np.ndarray,
) -> tuple[np.int64, np.ndarray, np.ndarray, np.ndarray]:
    keys = np.empty(512, np.uint64)
    bounds = np.empty(513, np.int64)
    content = np.empty(4096, np.uint8)
    total = words = np.int64(0)
    slots = spread(keys, words, np.int64(1024))
    bounds[0] = 0
    for row in range(first, last):
        count = scan_row(
            values, offsets[row], offsets[row + 1], lowered_bytes, lowered_points, letters, ends, row_keys
        )
        for i in range(count):
            start, end, key = ends[i], ends[i + 1], row_keys[i]
            slot = slot_of(slots, keys, bounds, content, letters, start, end, key)
            number = slots[slot]
            if number < 0:
                number = slots[slot] = words
                at = bounds[words]
                content = with_room(content, at, at + end - start)
                for letter in range(end - start):
                    content[at + letter] = letters[start + letter]
                keys[words] = key
                words += 1
                bounds[words] = at + end - start
                if words == len(keys):
                    keys = with_room(keys, words, 2 * words)
                    bounds = with_room(bounds, words + 1, 2 * words + 1)
                    slots = spread(keys, words, 4 * words)
            ids[total] = number
            total += 1
        row_ends[row - first] = total
    return total, keys[:words], bounds[: words + 1], content


@helper
def longest_row(offsets: np.ndarray, first: int, last: int) -> int:
    """The length of the longest of the rows first..last-1."""
    longest = 0
    for row in range(first, last):
        longest = max(longest, offsets[row + 1] - offsets[row])
    return longest


def row_buffers(offsets: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(letters, ends, keys) with room for the results of `scan_row` on any of the rows."""
    longest = int(np.diff(offsets[first : last + 1]).max(initial=0))
    most = longest // 2 + 1
    return np.empty(2 * longest, np.uint8), np.empty(most + 1, np.int64), np.empty(most, np.uint64)


def _id_buffers(offsets: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """(ids, ends of rows) with room for all words of rows; memory costs nothing until it is written to."""
    most = int(offsets[last] - offsets[first] + last - first) // 2
    return np.empty(most, np.int32), np.empty(last - first, np.int64)


def look_up_words(
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
) -> tuple[np.ndarray, np.ndarray]:
    """The words of rows first..last-1 by their number in a table, -1 for words that are not in it.

    Returns (ids of all words in text order, the end of each row in these).
    """
    ids, row_ends = _id_buffers(offsets, first, last)
    letters = lowered_bytes, lowered_points, *row_buffers(offsets, first, last)
    table = slots, keys, bounds, content
    total = _look_up_words(values, offsets, first, last, *letters, *table, ids, row_ends)
    return ids[:total], row_ends


@njit(cache=True, nogil=True)
def _look_up_words(
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
    ids: np.ndarray,
    row_ends: np.ndarray,
) -> int:
    total = 0
    for row in range(first, last):
        count = scan_row(
            values, offsets[row], offsets[row + 1], lowered_bytes, lowered_points, letters, ends, row_keys
        )
        for i in range(count):
            ids[total] = slots[
                slot_of(slots, keys, bounds, content, letters, ends[i], ends[i + 1], row_keys[i])
            ]
            total += 1
        row_ends[row - first] = total
    return total


def count_words(
    ids: np.ndarray, offsets: np.ndarray, first: int, last: int, words: int
) -> tuple[np.ndarray, np.ndarray]:
    """In rows first..last-1: (rows with each word, occurrences of each word), both (words,) int64."""
    documents, occurrences = np.zeros(words, np.int64), np.zeros(words, np.int64)
    _count(ids, offsets, first, last, documents, occurrences, np.full(words, -1, np.int64))
    return documents, occurrences


@njit(cache=True, nogil=True)
def _count(
    ids: np.ndarray,
    offsets: np.ndarray,
    first: int,
    last: int,
    documents: np.ndarray,  # (words,), zeros
    occurrences: np.ndarray,  # (words,), zeros
    seen: np.ndarray,  # (words,), -1: the last row with the word
) -> None:
    for row in range(first, last):
        for at in range(offsets[row], offsets[row + 1]):
            word = ids[at]
            if word >= 0:
                occurrences[word] += 1
                if seen[word] != row:
                    seen[word] = row
                    documents[word] += 1
