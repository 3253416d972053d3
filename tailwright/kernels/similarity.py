"""How many words of two texts match, as `difflib.SequenceMatcher` counts them without its junk rules.

The longest common run of words is matched (of several, the one that starts first in the first text, then in
the second), then the words to its left and to its right in the same way. As in difflib, two texts in the
other order may give another count.
"""

from __future__ import annotations

import numpy as np
from numba import njit


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
