"""Random draws inside kernels, word for word those of `tailwright.streams.stream(seed, method, row)`.

The generator is Philox-4x64 with 10 rounds, as in `numpy.random.Philox`. `random` is the state of a row's
stream, `STATE` words: those generated but not yet used, the key, and the position. Each draw takes one word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

_ROUNDS = 10
_MULTIPLY_0 = np.uint64(0xD2E7470EE14C6C93)
_MULTIPLY_1 = np.uint64(0xCA5A826395121157)
_BUMP_0 = np.uint64(0x9E3779B97F4A7C15)
_BUMP_1 = np.uint64(0xBB67AE8584CAA73B)
_ZERO = np.uint64(0)

STATE = 9
_USED, _BLOCK, _KEY_0, _KEY_1, _ROW = 4, 5, 6, 7, 8
_ONE, _LOW_BITS = np.uint64(1), np.uint64(11)
_KEYS = 1 << 62


def _wide_product(_context: Any, _one: Any, _other: Any) -> Any:
    """The 128-bit product of two uint64 as (high, low).

    For a random word w and a count n, `high` is a random number in 0..n-1 and `low` another random word.
    """
    signature = types.UniTuple(types.uint64, 2)(types.uint64, types.uint64)  # type: ignore[no-untyped-call]

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide, narrow = ir.IntType(128), ir.IntType(64)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        high = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), narrow)
        return context.make_tuple(builder, signature.return_type, (high, builder.trunc(product, narrow)))

    return signature, code


wide_product: Any = intrinsic(_wide_product)


@njit(cache=True)
def philox_block(
    key_0: np.uint64, key_1: np.uint64, row: np.uint64, block: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Words 4 x block .. 4 x block + 3 of the stream of `row`."""
    # numpy counts up before it draws, so the first block has counter 1.
    a, b, c, d = block + np.uint64(1), _ZERO, row, _ZERO
    for _ in range(_ROUNDS):
        high_0, low_0 = wide_product(_MULTIPLY_0, a)
        high_1, low_1 = wide_product(_MULTIPLY_1, c)
        a, b, c, d = high_1 ^ b ^ key_0, low_1, high_0 ^ d ^ key_1, low_0
        key_0 += _BUMP_0
        key_1 += _BUMP_1
    return a, b, c, d


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


@njit(cache=True, nogil=True)
def random_keys(key: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(rows,) int64: numbers that put the rows in a random order, whatever other rows there are."""
    random = np.empty(STATE, np.uint64)
    keys = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        open_stream(random, key, rows[i])
        keys[i] = below(random, _KEYS)
    return keys


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
