"""Draws of a row inside a kernel.

Each draw takes one word of `tailwright.streams.stream(seed, method, row)`. `random` is the state of such a
stream, `STATE` words: those generated but not yet used, the key, and the position.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tailwright.kernels.philox import philox_block, wide_product

STATE = 9
_USED, _BLOCK, _KEY_0, _KEY_1, _ROW = 4, 5, 6, 7, 8
_ONE, _LOW_BITS = np.uint64(1), np.uint64(11)


@njit(cache=True, nogil=True)
def open_stream(random: np.ndarray, key: np.ndarray, row: int) -> None:
    """Set `random` to the start of the stream of `row`; `key` is (2,) uint64."""
    random[_USED] = 4
    random[_BLOCK] = 0
    random[_KEY_0], random[_KEY_1] = key[0], key[1]
    random[_ROW] = np.uint64(row)


@njit(cache=True, nogil=True)
def _word(random: np.ndarray) -> np.uint64:
    if random[_USED] == 4:
        random[0], random[1], random[2], random[3] = philox_block(
            random[_KEY_0], random[_KEY_1], random[_ROW], random[_BLOCK]
        )
        random[_USED] = 0
        random[_BLOCK] += _ONE
    word = random[np.int64(random[_USED])]
    random[_USED] += _ONE
    return word


@njit(cache=True, nogil=True)
def below(random: np.ndarray, count: int) -> np.int64:
    """A number in 0..count-1, uniform to within 2**-64."""
    place, _ = wide_product(_word(random), np.uint64(count))
    return np.int64(place)


@njit(cache=True, nogil=True)
def bernoulli(random: np.ndarray, probability: float) -> bool:
    """True with this probability."""
    return bool(np.float64(_word(random) >> _LOW_BITS) * 2.0**-53 < probability)


@njit(cache=True, nogil=True)
def step_of_walk(random: np.ndarray, order: np.ndarray, step: int, places: int) -> np.int64:
    """The number at this step of a random permutation of 0..places-1.

    `order` holds 0..places-1 at step 0. Only the steps taken are shuffled.
    """
    other = step + below(random, places - step)
    order[step], order[other] = order[other], order[step]
    return order[step]


@njit(cache=True, nogil=True)
def coins(key: np.ndarray, rows: np.ndarray, probability: float) -> np.ndarray:
    """(rows,) bool: the first draw of the stream of each of these rows, true with this probability."""
    random = np.empty(STATE, np.uint64)
    tossed = np.empty(len(rows), np.bool_)
    for i in range(len(rows)):
        open_stream(random, key, rows[i])
        tossed[i] = bernoulli(random, probability)
    return tossed
