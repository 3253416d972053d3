"""Rows in random order, and random partners of rows within groups of rows; each row has its own stream."""

from __future__ import annotations

import numpy as np
from numba import njit

from tailwright.kernels.draws import STATE, below, open_stream

_KEYS = 1 << 62


@njit(cache=True, nogil=True)
def draw_partners(
    key: np.ndarray, rows: np.ndarray, ends: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each row, up to `count` others of its group; all sets of them are equally likely.

    `rows` are row numbers, group after group: group g is `rows[ends[g] : ends[g + 1]]`. Returns places in
    `rows` (who drew, who was drawn) and a number (int64) that puts the draws in random order. A row's draws
    depend only on its number and its group; with Floyd's algorithm a row of a large group costs no more than
    one of a small group.
    """
    total = 0
    for group in range(len(ends) - 1):
        size = ends[group + 1] - ends[group]
        total += size * min(count, size - 1)
    drawers = np.empty(total, np.int64)
    drawn = np.empty(total, np.int64)
    order = np.empty(total, np.int64)
    random = np.empty(STATE, np.uint64)
    made = 0
    for group in range(len(ends) - 1):
        start, others = ends[group], ends[group + 1] - ends[group] - 1
        for place in range(start, ends[group + 1]):
            open_stream(random, key, rows[place])
            begin = made
            for last in range(others - min(count, others), others):
                other = start + below(random, last + 1)
                for earlier in range(begin, made):
                    if drawn[earlier] == other:
                        other = start + last
                        break
                drawers[made], drawn[made], order[made] = place, other, below(random, _KEYS)
                made += 1
            # So far, places skip the row itself.
            for earlier in range(begin, made):
                if drawn[earlier] >= place:
                    drawn[earlier] += 1
    return drawers, drawn, order


@njit(cache=True, nogil=True)
def random_keys(key: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(rows,) int64: numbers that put the rows in a random order, whatever other rows there are."""
    random = np.empty(STATE, np.uint64)
    keys = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        open_stream(random, key, rows[i])
        keys[i] = below(random, _KEYS)
    return keys
