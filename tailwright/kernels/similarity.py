"""How many words of two texts match, as `difflib.SequenceMatcher` without its junk rules counts them.

The longest block that both have in common is found, of several the one that begins first in the first text
and then in the second; then the same to the left and to the right of it. Two texts in the other order may
give another count, as they do there.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def match_at_least(a: np.ndarray, b: np.ndarray, words: int, needed: int) -> bool:
    """Whether `needed` words or more match; `a` and `b` are word numbers below `words`.

    Ends as soon as the parts that are left to compare cannot make up for what is lost.
    """
    # Where each word stands in b, ascending: places[first[w] : first[w + 1]].
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

    # lengths[j + 1]: the common block that ends at the last word of a that was looked at and at b[j].
    lengths = np.zeros(len(b) + 1, np.int32)
    before = np.zeros(len(b) + 1, np.int32)
    waiting = np.empty((min(len(a), len(b)) + 2, 4), np.int32)  # parts of a and b that are not compared yet
    _put(waiting, 0, 0, len(a), 0, len(b))
    parts = 1
    possible = min(len(a), len(b))  # words that match, and those that might
    while parts and possible >= needed:
        parts -= 1
        a_low, a_high = waiting[parts, 0], waiting[parts, 1]
        b_low, b_high = waiting[parts, 2], waiting[parts, 3]
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
            _put(waiting, parts, a_low, a_at, b_low, b_at)
            parts += 1
            possible += min(a_at - a_low, b_at - b_low)
        if a_at + size < a_high and b_at + size < b_high:
            _put(waiting, parts, a_at + size, a_high, b_at + size, b_high)
            parts += 1
            possible += min(a_high - a_at, b_high - b_at) - size
    return possible >= needed


@njit(cache=True, nogil=True, inline="always")
def _put(waiting: np.ndarray, place: int, a_low: int, a_high: int, b_low: int, b_high: int) -> None:
    waiting[place, 0], waiting[place, 1] = a_low, a_high
    waiting[place, 2], waiting[place, 3] = b_low, b_high


@njit(cache=True, nogil=True, inline="always")
def _forget(lengths: np.ndarray, word: int, first: np.ndarray, places: np.ndarray) -> None:
    """Set back what the places of `word` have left in `lengths`."""
    for p in range(first[word], first[word + 1]):
        lengths[places[p] + 1] = 0
