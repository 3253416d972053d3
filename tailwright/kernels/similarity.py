"""What texts have in common: runs of n words, numbered by content, and words that match in order.

A text is `words[offsets[i]:offsets[i + 1]]`; the n-gram at a position is the word there and the n - 1 words
after it in the same row. Numbers are exact: two n-grams have the same one if and only if their words are.

Words are matched as by `difflib.SequenceMatcher` without its junk rules: the longest common run of words (of
several, the one that starts first in the first text, then in the second), then the words to its left and to
its right in the same way. As in difflib, two texts in the other order may give another count.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

# An odd number near 2**64 / golden ratio: its products spread over the upper bits.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@njit(cache=True, nogil=True)
def number_ngrams(
    shorter: np.ndarray,  # (positions,) int32: the (n - 1)-gram at each position, -1 for none
    words: np.ndarray,  # (positions,) int32
    offsets: np.ndarray,  # (rows + 1,) int64
    n: int,
) -> tuple[np.ndarray, int]:
    """((positions,) int32: the n-gram at each position, -1 for none; the number of different ones)."""
    ids = np.full(len(words), -1, np.int32)
    vocabulary = np.int64(words.max()) + 1 if len(words) else np.int64(1)
    keys = np.full(1024, -1, np.int64)
    numbers = np.empty(1024, np.int32)
    distinct = 0
    for row in range(len(offsets) - 1):
        for at in range(offsets[row], offsets[row + 1] - n + 1):
            # Both factors are below 2**31, so no two pairs share a key.
            key = np.int64(shorter[at]) * vocabulary + words[at + n - 1]
            slot = _slot(keys, key)
            if keys[slot] < 0:
                keys[slot] = key
                numbers[slot] = distinct
                distinct += 1
                ids[at] = distinct - 1
                if 2 * distinct > len(keys):
                    keys, numbers = _larger(keys, numbers)
            else:
                ids[at] = numbers[slot]
    return ids, distinct


@njit(cache=True, nogil=True)
def _slot(keys: np.ndarray, key: int) -> np.int64:
    """The slot of the key, or the free one where it belongs."""
    mask = len(keys) - 1
    slot = np.int64((np.uint64(key) * _SPREAD) >> _HALF) & mask
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def _larger(keys: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same table, four times as large."""
    more_keys = np.full(4 * len(keys), -1, np.int64)
    more_numbers = np.empty(4 * len(keys), np.int32)
    for old in range(len(keys)):
        if keys[old] >= 0:
            slot = _slot(more_keys, keys[old])
            more_keys[slot] = keys[old]
            more_numbers[slot] = numbers[old]
    return more_keys, more_numbers


@njit(cache=True, parallel=True)
def distinct_in_rows(
    ids: np.ndarray,  # (positions,) int32 as `number_ngrams` gives them
    offsets: np.ndarray,  # (rows + 1,) int64
    n: int,
    distinct: np.ndarray,  # (rows,) int64, filled here
) -> None:
    """How many different n-grams each row has."""
    for row in prange(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1] - n + 1
        if end <= start:
            distinct[row] = 0
            continue
        held = np.sort(ids[start:end])
        different = 1
        for i in range(1, len(held)):
            different += held[i] != held[i - 1]
        distinct[row] = different


@njit(cache=True, parallel=True)
def shared_ngrams(
    ids: np.ndarray,  # (positions,) int32 as `number_ngrams` gives them
    offsets: np.ndarray,  # (rows + 1,) int64
    n: int,
    first: np.ndarray,  # (pairs,) int64: rows
    second: np.ndarray,  # (pairs,) int64: rows
    copied: np.ndarray,  # (pairs,) int64, filled here
    clipped: np.ndarray,  # (pairs,) int64, filled here
) -> None:
    """The n-grams of the first row of each pair that the second row has too.

    `copied` counts all of them; `clipped` counts each at most as often as the second row has it.
    """
    for pair in prange(len(first)):
        a, b = first[pair], second[pair]
        copied[pair] = clipped[pair] = 0
        a_end, b_end = offsets[a + 1] - n + 1, offsets[b + 1] - n + 1
        if a_end <= offsets[a] or b_end <= offsets[b]:
            continue
        ours, theirs = np.sort(ids[offsets[a] : a_end]), np.sort(ids[offsets[b] : b_end])
        i, j, count, at_most_theirs = 0, 0, 0, 0
        while i < len(ours) and j < len(theirs):
            if ours[i] < theirs[j]:
                i += 1
            elif ours[i] > theirs[j]:
                j += 1
            else:
                ngram = ours[i]
                our_start, their_start = i, j
                while i < len(ours) and ours[i] == ngram:
                    i += 1
                while j < len(theirs) and theirs[j] == ngram:
                    j += 1
                count += i - our_start
                at_most_theirs += min(i - our_start, j - their_start)
        copied[pair], clipped[pair] = count, at_most_theirs


@njit(cache=True, parallel=True)
def matched_words(
    words: np.ndarray,  # (positions,) int32
    offsets: np.ndarray,  # (rows + 1,) int64
    first: np.ndarray,  # (pairs,) int64: rows
    second: np.ndarray,  # (pairs,) int64: rows
    shared: np.ndarray,  # (pairs,) int64: `clipped` of their words, which is the most that can match
    matched: np.ndarray,  # (pairs,) int64, filled here
) -> None:
    """How many words of two rows `difflib.SequenceMatcher` matches, without its junk rules."""
    for pair in prange(len(first)):
        a = words[offsets[first[pair]] : offsets[first[pair] + 1]]
        b = words[offsets[second[pair]] : offsets[second[pair] + 1]]
        low, high = 0, shared[pair]
        # Words are renumbered among those of the two rows, so that tables are as small as the rows.
        held = np.sort(np.concatenate((a, b)))
        a, b = np.searchsorted(held, a), np.searchsorted(held, b)
        # Rows with few edits match nearly all words they share, so the search goes down from there in
        # doubling steps, and only then halves the rest.
        step = 1
        while low < high:
            needed = max(high - step + 1, (low + high + 1) // 2 if low else 1)
            if match_at_least(a, b, len(held), needed):
                low = needed
            else:
                high = needed - 1
                step *= 2
        matched[pair] = low


@njit(cache=True, nogil=True)
def match_at_least(a: np.ndarray, b: np.ndarray, words: int, needed: int) -> bool:
    """Whether `needed` words or more match; `a` and `b` are word numbers below `words`.

    Stops as soon as the words still to be compared cannot suffice.
    """
    # The places of each word in b, ascending: places[first[w] : first[w + 1]].
    first = np.zeros(words + 1, np.int32)
    for word in b:
        first[word + 1] += 1
    for word in range(words):
        first[word + 1] += first[word]
    places = np.empty(len(b), np.int32)
    filled = first[:-1].copy()
    for j in range(len(b)):
        places[filled[b[j]]] = j
        filled[b[j]] += 1

    # lengths[j + 1]: the length of the common run that ends at the current word of a and at b[j].
    lengths = np.zeros(len(b) + 1, np.int32)
    before = np.zeros(len(b) + 1, np.int32)
    waiting = np.empty((min(len(a), len(b)) + 2, 4), np.int32)  # ranges of a and b still to be compared
    _put(waiting, 0, 0, len(a), 0, len(b))
    ranges = 1
    possible = min(len(a), len(b))  # words that match or still may
    while ranges and possible >= needed:
        ranges -= 1
        a_low, a_high = waiting[ranges, 0], waiting[ranges, 1]
        b_low, b_high = waiting[ranges, 2], waiting[ranges, 3]
        size, a_at, b_at = 0, a_low, b_low
        for i in range(a_low, a_high):
            for p in range(first[a[i]], first[a[i] + 1]):
                j = places[p]
                if j < b_low:
                    continue
                if j >= b_high:
                    break
                length = before[j] + 1
                lengths[j + 1] = length
                if length > size:
                    size, a_at, b_at = length, i - length + 1, j - length + 1
            if i > a_low:
                _forget(before, a[i - 1], first, places)
            before, lengths = lengths, before
        if a_high > a_low:
            _forget(before, a[a_high - 1], first, places)
        possible += size - min(a_high - a_low, b_high - b_low)
        if not size:
            continue
        if a_at > a_low and b_at > b_low:
            _put(waiting, ranges, a_low, a_at, b_low, b_at)
            ranges += 1
            possible += min(a_at - a_low, b_at - b_low)
        if a_at + size < a_high and b_at + size < b_high:
            _put(waiting, ranges, a_at + size, a_high, b_at + size, b_high)
            ranges += 1
            possible += min(a_high - a_at, b_high - b_at) - size
    return possible >= needed


@njit(cache=True, nogil=True, inline="always")
def _put(waiting: np.ndarray, place: int, a_low: int, a_high: int, b_low: int, b_high: int) -> None:
    waiting[place, 0], waiting[place, 1] = a_low, a_high
    waiting[place, 2], waiting[place, 3] = b_low, b_high


@njit(cache=True, nogil=True, inline="always")
def _forget(lengths: np.ndarray, word: int, first: np.ndarray, places: np.ndarray) -> None:
    """Reset `lengths` at the places of `word`."""
    for p in range(first[word], first[word + 1]):
        lengths[places[p] + 1] = 0
