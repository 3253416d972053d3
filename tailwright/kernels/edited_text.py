"""An edited text, appended to others byte by byte, and compared with them.

An edit of a row is planned in two arrays:

| name | holds |
|---|---|
| `place` int64 (words,) | what replaces a word: a word of the text, `GONE`, or `NAME` minus a name |
| `after` int64 (words,) | the name that is inserted after the word, or `GONE` |

A name is the number of a synonym: name n is `name_content[name_bounds[n]:name_bounds[n + 1]]`. The text
between words stays, except for one of the two spaces around a deleted word.
"""

from __future__ import annotations

import numpy as np
from numba import njit

GONE, NAME = -1, -2
SPACE_BYTE = 0x20
_AS_IT_IS, _CAPITAL, _ALL_CAPITALS = 0, 1, 2


@njit(cache=True, nogil=True)
def write_bytes(out: np.ndarray, size: int, values: np.ndarray, start: int, end: int) -> int:
    """Append `values[start:end]` to `out[:size]`; returns the new size."""
    length = max(end - start, 0)
    for i in range(length):
        out[size + i] = values[start + i]
    return size + length


@njit(cache=True, nogil=True)
def _capitals(values: np.ndarray, start: int, end: int) -> int:
    """Whether a word starts with a capital, or has several and no lower-case letter."""
    large, small = 0, 0
    for at in range(start, end):
        large += 0x41 <= values[at] <= 0x5A
        small += 0x61 <= values[at] <= 0x7A
    if large > 1 and small == 0:
        return _ALL_CAPITALS
    return _CAPITAL if 0x41 <= values[start] <= 0x5A else _AS_IT_IS


@njit(cache=True, nogil=True)
def _write_name(
    out: np.ndarray, size: int, name_content: np.ndarray, start: int, end: int, capitals: int
) -> int:
    """Append a name, capitalised like the word that it replaces; returns the new size."""
    for at in range(start, end):
        byte = name_content[at]
        if (capitals == _ALL_CAPITALS or (capitals == _CAPITAL and at == start)) and 0x61 <= byte <= 0x7A:
            byte = np.uint8(byte - 0x20)
        out[size] = byte
        size += 1
    return size


@njit(cache=True, nogil=True)
def _close_gap(
    out: np.ndarray, begin: int, size: int, values: np.ndarray, at: int, stop: int
) -> tuple[int, int]:
    """Drop one of the two spaces around a deleted word: (new size of the output, where the source goes on).

    After a space, the next space is dropped; if none follows, that space itself. At the start of a text or
    line and after a bracket, the next space is dropped.
    """
    following = at < stop and values[at] == SPACE_BYTE
    before = out[size - 1] if size > begin else 0x0A
    if before == SPACE_BYTE and not following:
        return size - 1, at
    if following and (before in (SPACE_BYTE, 0x0A, 0x09, 0x28, 0x5B, 0x7B)):
        return size, at + 1
    return size, at


@njit(cache=True, nogil=True)
def write_edited(
    out: np.ndarray,
    size: int,
    values: np.ndarray,
    at: int,
    stop: int,
    words: int,
    starts: np.ndarray,
    ends: np.ndarray,
    place: np.ndarray,
    after: np.ndarray,
    name_bounds: np.ndarray,
    name_content: np.ndarray,
) -> int:
    """Append the planned text of the row `values[at:stop]` to `out[:size]`; returns the new size."""
    begin = size
    for i in range(words):
        if place[i] == i and after[i] == GONE:
            continue  # written with the text around it
        size = write_bytes(out, size, values, at, starts[i])
        at = ends[i]
        if place[i] >= 0:
            size = write_bytes(out, size, values, starts[place[i]], ends[place[i]])
        elif place[i] == GONE:
            size, at = _close_gap(out, begin, size, values, at, stop)
        else:
            name = NAME - place[i]
            capitals = _capitals(values, starts[i], ends[i])
            size = _write_name(out, size, name_content, name_bounds[name], name_bounds[name + 1], capitals)
        if after[i] != GONE:
            out[size] = SPACE_BYTE
            name = after[i]
            size = write_bytes(out, size + 1, name_content, name_bounds[name], name_bounds[name + 1])
    return write_bytes(out, size, values, at, stop)


@njit(cache=True, nogil=True)
def is_new(out: np.ndarray, ends: np.ndarray, first: int, last: int, size: int, source: np.ndarray) -> bool:
    """Whether the last text, which ends at `size`, differs from its source and from texts first..last-1."""
    text = out[ends[last - 1] if last > 0 else 0 : size]
    if _same_bytes(text, source):
        return False
    for i in range(first, last):  # noqa: SIM110 (kernels have no generators)
        if _same_bytes(text, out[ends[i - 1] if i > 0 else 0 : ends[i]]):
            return False
    return True


@njit(cache=True, nogil=True)
def _same_bytes(one: np.ndarray, other: np.ndarray) -> bool:
    if len(one) != len(other):
        return False
    for i in range(len(one)):  # noqa: SIM110 (kernels have no generators)
        if one[i] != other[i]:
            return False
    return True
