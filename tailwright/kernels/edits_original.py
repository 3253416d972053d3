"""Texts edited as in the original EDA: cleaned to lower-case a-z and single spaces, then lists of words.

A row is a list of tokens: the number of a word of the cleaned text, or `NAME` minus a synonym. Arguments,
results and draws are as in `edits.py`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tailwright.kernels.draws import STATE, below, bernoulli, open_stream, step_of_walk
from tailwright.kernels.edited_text import NAME, SPACE_BYTE, is_new, write_bytes
from tailwright.kernels.edits import INSERT, SWAP, SYNONYMS, Names, Stops, deal, draw_name, number_of_edits
from tailwright.kernels.spans import number_of
from tailwright.kernels.word_tables import with_room
from tailwright.kernels.words import longest_row

TRIES = 9  # words that an insertion tries before it gives up
SWAP_TRIES = 3  # draws of a swap for a second place


@njit(cache=True, nogil=True)
def _clean(
    values: np.ndarray, at: int, stop: int, clean: np.ndarray, starts: np.ndarray, ends: np.ndarray
) -> tuple[int, int]:
    """Write the row as words of a-z with single spaces; returns (bytes, words)."""
    size, words, inside = 0, 0, False
    while at < stop:
        byte = values[at]
        at += 1
        if byte == 0x27:  # apostrophes vanish, so that "don't" is one word
            continue
        if byte == 0xE2 and at + 1 < stop and values[at] == 0x80 and values[at + 1] == 0x99:
            at += 2
            continue
        if 0x41 <= byte <= 0x5A:
            byte = np.uint8(byte + 0x20)
        if not 0x61 <= byte <= 0x7A:
            inside = False
            continue
        if not inside:
            if words > 0:
                clean[size] = SPACE_BYTE
                size += 1
            starts[words] = size
            words += 1
            inside = True
        clean[size] = byte
        size += 1
        ends[words - 1] = size
    return size, words


@njit(cache=True, nogil=True)
def _replace(
    random: np.ndarray,
    words: int,
    edits: int,
    numbers: np.ndarray,
    order: np.ndarray,
    tokens: np.ndarray,
    marks: np.ndarray,
    name_starts: np.ndarray,
    names: np.ndarray,
) -> None:
    """Replace `edits` of the different words by synonyms, each wherever it occurs."""
    kinds = 0
    for i in range(words):
        known = numbers[i] < 0 or marks[numbers[i]]
        for kind in range(kinds):
            known |= numbers[i] == numbers[order[kind]]
        if not known:
            order[kinds] = i
            kinds += 1
    for step in range(kinds):
        word = numbers[step_of_walk(random, order, step, kinds)]
        name = draw_name(random, word, name_starts, names)
        for i in range(words):
            if numbers[i] == word:
                tokens[i] = NAME - name
        edits -= 1
        if edits == 0:
            return


@njit(cache=True, nogil=True)
def _insert(
    random: np.ndarray,
    count: int,
    edits: int,
    numbers: np.ndarray,
    tokens: np.ndarray,
    letters: np.ndarray,
    slots: np.ndarray,
    keys: np.ndarray,
    bounds: np.ndarray,
    content: np.ndarray,
    name_starts: np.ndarray,
    names: np.ndarray,
    name_bounds: np.ndarray,
    name_content: np.ndarray,
) -> int:
    """Insert synonyms of words of the text, never at its end; returns the number of tokens."""
    for _ in range(edits):
        for _ in range(TRIES):
            token = tokens[below(random, count)]
            if token >= 0:
                word = numbers[token]
            else:
                start, end = name_bounds[NAME - token], name_bounds[NAME - token + 1]
                word, _ = number_of(slots, keys, bounds, content, name_content, start, end, letters)
            if word < 0:
                continue
            name = draw_name(random, word, name_starts, names)
            place = below(random, count)
            for i in range(count, place, -1):
                tokens[i] = tokens[i - 1]
            tokens[place] = NAME - name
            count += 1
            break
    return count


@njit(cache=True, nogil=True)
def _swap(random: np.ndarray, count: int, edits: int, tokens: np.ndarray) -> None:
    for _ in range(edits):
        i = below(random, count)
        for _ in range(SWAP_TRIES):
            j = below(random, count)
            if j != i:
                tokens[i], tokens[j] = tokens[j], tokens[i]
                break


@njit(cache=True, nogil=True)
def _delete(random: np.ndarray, count: int, share: float, tokens: np.ndarray) -> int:
    """Delete each word with probability `share`; returns the number of tokens, at least 1."""
    if count == 1:
        return 1
    kept = 0
    for i in range(count):
        if not bernoulli(random, share):
            tokens[kept] = i
            kept += 1
    if kept == 0:
        tokens[0] = below(random, count)
        return 1
    return kept


@njit(cache=True, nogil=True)
def _write(
    out: np.ndarray,
    size: int,
    count: int,
    tokens: np.ndarray,
    clean: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    name_bounds: np.ndarray,
    name_content: np.ndarray,
) -> int:
    """Append the tokens to `out[:size]`, separated by spaces; returns the new size."""
    for i in range(count):
        token = tokens[i]
        if i > 0:
            out[size] = SPACE_BYTE
            size += 1
        if token >= 0:
            size = write_bytes(out, size, clean, starts[token], ends[token])
        else:
            start, end = name_bounds[NAME - token], name_bounds[NAME - token + 1]
            size = write_bytes(out, size, name_content, start, end)
    return size


@njit(cache=True, nogil=True)
def edit_rows_original(
    values: np.ndarray,
    offsets: np.ndarray,
    rows: np.ndarray,
    first: int,
    last: int,
    key: np.ndarray,
    operations: np.ndarray,
    share: float,
    outputs: int,
    stops: Stops,
    table: Names,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `edits.edit_rows`; a text that equals the cleaned source is left out."""
    marks, _ = stops
    slots, keys, bounds, content, name_starts, names, _, name_bounds, name_content, longest = table
    most = longest_row(offsets, first, last) // 2 + 1  # words of a row
    starts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    numbers, order = np.empty(most, np.int64), np.empty(most, np.int64)
    tokens = np.empty(2 * most, np.int64)
    clean = np.empty(2 * most, np.uint8)
    letters = np.empty(max(2 * most, longest), np.uint8)
    random = np.empty(STATE, np.uint64)
    copies = outputs // len(operations) + 1
    pack, dealt = np.empty(copies * len(operations), np.int64), np.empty(outputs, np.int64)

    sources = np.empty((last - first) * outputs, np.int64)
    text_ends = np.empty((last - first) * outputs, np.int64)
    out = np.empty(offsets[last] - offsets[first] + 1024, np.uint8)
    made, size = 0, 0
    for row in range(first, last):
        length, words = _clean(values, offsets[row], offsets[row + 1], clean, starts, ends)
        if words == 0:
            continue
        for i in range(words):
            numbers[i], _ = number_of(slots, keys, bounds, content, clean, starts[i], ends[i], letters)
        open_stream(random, key, rows[row])
        deal(random, operations, copies, pack, dealt)
        edits = number_of_edits(share, words)
        # All words may be replaced, since a word is replaced wherever it occurs.
        out = with_room(out, size, size + outputs * (length + words * (longest + 1)))
        made_before = made
        for operation in dealt:
            for i in range(words):
                tokens[i] = i
            count = words
            if operation == SYNONYMS:
                _replace(random, words, edits, numbers, order, tokens, marks, name_starts, names)
            elif operation == INSERT:
                count = _insert(
                    *(random, words, edits, numbers, tokens, letters, slots, keys, bounds, content),
                    *(name_starts, names, name_bounds, name_content),
                )
            elif operation == SWAP:
                _swap(random, words, edits, tokens)
            else:
                count = _delete(random, words, share, tokens)
            end = _write(out, size, count, tokens, clean, starts, ends, name_bounds, name_content)
            if is_new(out, text_ends, made_before, made, end, clean[:length]):
                sources[made], text_ends[made] = row, end
                made, size = made + 1, end
    return sources[:made], text_ends[:made], out[:size]
