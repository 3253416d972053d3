"""Texts edited word by word: synonyms, insertions, swaps, deletions.

The kernel is serial and releases the GIL: each thread runs it over its own rows. A row draws from its own
stream, so blocks of any size give the same texts. Inside, arrays are passed one by one: taking an array out
of a tuple counts references, which is costly within loops.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tailwright.kernels.draws import STATE, below, open_stream, step_of_walk
from tailwright.kernels.edited_text import GONE, NAME, is_new, write_edited
from tailwright.kernels.spans import find_spans, number_of
from tailwright.kernels.word_tables import with_room
from tailwright.kernels.words import longest_row

SYNONYMS, INSERT, SWAP, DELETE = 0, 1, 2, 3
TRIES = 7  # words that an insertion tries before it gives up


class Names(NamedTuple):
    """Synonyms as arrays: word w has `names[starts[w]:starts[w + 1]]`, at least one, alphabetic ones first.

    Words are a table as in `words.py`; names are numbers, see `edited_text.py`.
    """

    slots: np.ndarray
    keys: np.ndarray
    bounds: np.ndarray
    content: np.ndarray
    starts: np.ndarray  # (words + 1,) int64
    names: np.ndarray  # (synonyms,) int32
    alphabetic: np.ndarray  # (words,) int64: how many of them consist of letters
    name_bounds: np.ndarray  # (names + 1,) int64
    name_content: np.ndarray
    longest: int  # bytes of the longest name


class Stops(NamedTuple):
    """Words of `Names` that synonyms never replace."""

    marks: np.ndarray  # (words,) bool
    any_case: bool  # whether words with capitals are stop words too


@njit(cache=True, nogil=True)
def number_of_edits(share: float, words: int) -> int:
    """This share of the words, rounded down, but at least one; 0.29 of 100 is 29."""
    return max(int(share * words + 1e-9), 1)


@njit(cache=True, nogil=True)
def deal(
    random: np.ndarray, operations: np.ndarray, copies: int, pack: np.ndarray, dealt: np.ndarray
) -> None:
    """The operation of each output, dealt from a shuffled pack with `copies` of every operation."""
    size = len(operations) * copies
    for i in range(size):
        pack[i] = i
    for i in range(len(dealt)):
        dealt[i] = operations[step_of_walk(random, pack, i, size) % len(operations)]


@njit(cache=True, nogil=True)
def draw_name(
    random: np.ndarray, word: int | np.int64, name_starts: np.ndarray, names: np.ndarray
) -> np.int64:
    """One of the synonyms of a word."""
    first = name_starts[word]
    return np.int64(names[first + below(random, name_starts[word + 1] - first)])


@njit(cache=True, nogil=True)
def _plan_synonyms(
    random: np.ndarray,
    values: np.ndarray,
    words: int,
    starts: np.ndarray,
    ends: np.ndarray,
    edits: int,
    order: np.ndarray,
    place: np.ndarray,
    letters: np.ndarray,
    marks: np.ndarray,
    any_case: bool,
    slots: np.ndarray,
    keys: np.ndarray,
    bounds: np.ndarray,
    content: np.ndarray,
    name_starts: np.ndarray,
    names: np.ndarray,
) -> None:
    for step in range(words):
        i = step_of_walk(random, order, step, words)
        word, capitals = number_of(slots, keys, bounds, content, values, starts[i], ends[i], letters)
        if word < 0 or (marks[word] and (any_case or not capitals)):
            continue
        place[i] = NAME - draw_name(random, word, name_starts, names)
        edits -= 1
        if edits == 0:
            return


@njit(cache=True, nogil=True)
def _plan_insertions(
    random: np.ndarray,
    values: np.ndarray,
    words: int,
    starts: np.ndarray,
    ends: np.ndarray,
    edits: int,
    order: np.ndarray,
    after: np.ndarray,
    inserted: np.ndarray,
    letters: np.ndarray,
    slots: np.ndarray,
    keys: np.ndarray,
    bounds: np.ndarray,
    content: np.ndarray,
    name_starts: np.ndarray,
    names: np.ndarray,
    alphabetic: np.ndarray,
    name_bounds: np.ndarray,
    name_content: np.ndarray,
) -> None:
    done = 0
    for step in range(words):
        i = step_of_walk(random, order, step, words)
        for _ in range(TRIES):
            drawn = below(random, words + done)  # a word of the text, or one inserted before
            if drawn < words:
                start, end = starts[drawn], ends[drawn]
                word, _ = number_of(slots, keys, bounds, content, values, start, end, letters)
            else:
                name = inserted[drawn - words]
                start, end = name_bounds[name], name_bounds[name + 1]
                word, _ = number_of(slots, keys, bounds, content, name_content, start, end, letters)
            if word >= 0 and alphabetic[word] > 0:
                name = np.int64(names[name_starts[word] + below(random, alphabetic[word])])
                after[i] = inserted[done] = name
                done += 1
                break
        if done == edits:
            return


@njit(cache=True, nogil=True)
def _plan_swaps(
    random: np.ndarray, words: int, edits: int, order: np.ndarray, place: np.ndarray, moved: np.ndarray
) -> None:
    if words < 2:
        return
    for step in range(words):
        i = step_of_walk(random, order, step, words)
        if moved[i]:
            continue
        j = below(random, words - 1)
        j += j >= i
        place[i], place[j] = place[j], place[i]
        moved[i] = moved[j] = True
        edits -= 1
        if edits == 0:
            return


@njit(cache=True, nogil=True)
def _plan_deletions(random: np.ndarray, words: int, edits: int, order: np.ndarray, place: np.ndarray) -> None:
    for step in range(min(edits, words - 1)):
        place[step_of_walk(random, order, step, words)] = GONE


@njit(cache=True, nogil=True)
def edit_rows(
    values: np.ndarray,
    offsets: np.ndarray,
    rows: np.ndarray,
    first: int,
    last: int,
    byte_classes: np.ndarray,
    point_classes: np.ndarray,
    key: np.ndarray,
    operations: np.ndarray,
    share: float,
    outputs: int,
    stops: Stops,
    table: Names,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Up to `outputs` edited texts of each of the rows first..last-1, each by one of the operations.

    `rows` (rows,) int64 are the rows' numbers in their file, which select their streams. A text that equals
    the source or an earlier text of the same row is left out. Returns (source row of each text, end of each
    text, bytes of all texts).
    """
    marks, any_case = stops
    slots, keys, bounds, content, name_starts, names, alphabetic, name_bounds, name_content, longest = table
    most = longest_row(offsets, first, last) // 2 + 1  # words of a row
    starts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    place, after = np.empty(most, np.int64), np.empty(most, np.int64)
    order, inserted = np.empty(most, np.int64), np.empty(most, np.int64)
    moved = np.empty(most, np.bool_)
    letters = np.empty(max(2 * most, longest), np.uint8)
    random = np.empty(STATE, np.uint64)
    copies = (outputs + len(operations) - 1) // len(operations)
    pack, dealt = np.empty(copies * len(operations), np.int64), np.empty(outputs, np.int64)

    sources = np.empty((last - first) * outputs, np.int64)
    text_ends = np.empty((last - first) * outputs, np.int64)
    out = np.empty(offsets[last] - offsets[first] + 1024, np.uint8)
    made, size = 0, 0
    for row in range(first, last):
        at, stop = offsets[row], offsets[row + 1]
        words = find_spans(values, at, stop, byte_classes, point_classes, starts, ends)
        if words == 0:
            continue
        open_stream(random, key, rows[row])
        deal(random, operations, copies, pack, dealt)
        edits = number_of_edits(share, words)
        out = with_room(out, size, size + outputs * (stop - at + edits * (longest + 1)))
        made_before = made
        for operation in dealt:
            for i in range(words):
                order[i] = place[i] = i
                after[i] = GONE
                moved[i] = False
            if operation == SYNONYMS:
                _plan_synonyms(
                    *(random, values, words, starts, ends, edits, order, place, letters, marks, any_case),
                    *(slots, keys, bounds, content, name_starts, names),
                )
            elif operation == INSERT:
                _plan_insertions(
                    *(random, values, words, starts, ends, edits, order, after, inserted, letters),
                    *(slots, keys, bounds, content, name_starts, names, alphabetic, name_bounds),
                    name_content,
                )
            elif operation == SWAP:
                _plan_swaps(random, words, edits, order, place, moved)
            else:
                _plan_deletions(random, words, edits, order, place)
            end = write_edited(
                out, size, values, at, stop, words, starts, ends, place, after, name_bounds, name_content
            )
            if is_new(out, text_ends, made_before, made, end, values[at:stop]):
                sources[made], text_ends[made] = row, end
                made, size = made + 1, end
    return sources[:made], text_ends[:made], out[:size]
