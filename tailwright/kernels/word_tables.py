"""Tables of words by content: what a word's number is, and which words there are.

A table of words is four arrays, with open addressing and linear probing:

| name | holds |
|---|---|
| `slots` int32 (a power of two,) | the number of the word in this slot, or -1 |
| `keys` uint64 (words,) | the key of each word: its bytes if there are up to eight, else a hash of them |
| `bounds` int64 (words + 1,) | word w is `content[bounds[w]:bounds[w + 1]]` |
| `content` uint8 | the lower-cased bytes of all words |

Words are equal if their bytes are: colliding keys cost time, but never merge two words. Most words have up to
eight bytes; these are determined by length and key.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tailwright.kernels.compiling import helper

# An odd number near 2**64 / golden ratio: its products spread over the upper bits.
SPREAD = np.uint64(0x9E3779B97F4A7C15)
BYTE, TOP_BYTE, _HALF = np.uint64(8), np.uint64(56), np.uint64(32)
NO_BYTES = np.uint64(0)


@helper
def key_of(content: np.ndarray, start: int, end: int) -> np.uint64:
    """The key that `scan_row` gives the word `content[start:end]`."""
    last_eight, before = NO_BYTES, NO_BYTES
    for at in range(start, end):
        before = (before ^ (last_eight >> TOP_BYTE)) * SPREAD
        last_eight = (last_eight << BYTE) | np.uint64(content[at])
    return last_eight ^ before


@helper
def _home(key: np.uint64, mask: int) -> np.int64:
    """Where the search for a key starts."""
    return np.int64((key * SPREAD) >> _HALF) & mask


@helper
def slot_of(
    slots: np.ndarray,
    keys: np.ndarray,
    bounds: np.ndarray,
    content: np.ndarray,
    word: np.ndarray,
    start: int,
    end: int,
    key: np.uint64,
) -> np.int64:
    """The slot of the word `word[start:end]`, or the free one where it belongs."""
    mask, length = len(slots) - 1, end - start
    slot = _home(key, mask)
    while True:
        known = slots[slot]
        if known < 0:
            return slot
        if keys[known] == key:
            begin = bounds[known]
            if bounds[known + 1] - begin == length:
                same = True
                if length > 8:
                    for i in range(length):
                        if content[begin + i] != word[start + i]:
                            same = False
                            break
                if same:
                    return slot
        slot = (slot + 1) & mask


@helper
def with_room(array: np.ndarray, used: int, needed: int) -> np.ndarray:
    """The array itself, or a larger copy of its first `used` entries with room for `needed`."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, 2 * len(array)), array.dtype)
    for i in range(used):  # an assignment of slices takes two seconds to compile
        larger[i] = array[i]
    return larger


@helper
def spread(keys: np.ndarray, words: int, size: int) -> np.ndarray:
    """Slots of `words` distinct words in a new table of `size` slots."""
    slots = np.empty(size, np.int32)
    for slot in range(size):
        slots[slot] = -1
    mask = size - 1
    for word in range(words):
        slot = _home(keys[word], mask)
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = word
    return slots


def index_words(bounds: np.ndarray, content: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """The table of the given words: (slots, keys, the first repeated word or -1)."""
    words = len(bounds) - 1
    slots = np.full(max(2, 1 << (2 * words - 1).bit_length()), -1, np.int32)
    keys = np.empty(words, np.uint64)
    return slots, keys, _fill(bounds, content, slots, keys)


@njit(cache=True, nogil=True)
def _fill(bounds: np.ndarray, content: np.ndarray, slots: np.ndarray, keys: np.ndarray) -> int:
    """Fill an empty table with the given words; returns the first repeated one or -1."""
    for word in range(len(keys)):
        key = key_of(content, bounds[word], bounds[word + 1])
        slot = slot_of(slots, keys, bounds, content, content, bounds[word], bounds[word + 1], key)
        if slots[slot] >= 0:
            return word
        slots[slot] = word
        keys[word] = key
    return -1


@njit(cache=True, nogil=True)
def merge_words(
    keys: np.ndarray,
    bounds: np.ndarray,
    content: np.ndarray,
    new_keys: np.ndarray,
    new_bounds: np.ndarray,
    new_content: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Add the words of another list: (keys, bounds, content of all, number of each word of that list)."""
    words, added = len(keys), len(new_keys)
    size = 2
    while size < 2 * (words + added):
        size *= 2
    slots = spread(keys, words, size)
    keys = with_room(keys, words, words + added)
    bounds = with_room(bounds, words + 1, words + added + 1)
    content = with_room(content, bounds[words], bounds[words] + new_bounds[added])
    numbers = np.empty(added, np.int32)
    for new in range(added):
        start, end, key = new_bounds[new], new_bounds[new + 1], new_keys[new]
        slot = slot_of(slots, keys, bounds, content, new_content, start, end, key)
        if slots[slot] < 0:
            at = bounds[words]
            for letter in range(end - start):
                content[at + letter] = new_content[start + letter]
            slots[slot] = words
            keys[words] = key
            words += 1
            bounds[words] = at + end - start
        numbers[new] = slots[slot]
    return keys[:words], bounds[: words + 1], content, numbers
