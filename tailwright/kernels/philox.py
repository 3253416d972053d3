"""The Philox-4x64 generator (10 rounds) for kernels, word for word that of `numpy.random.Philox`.

So a kernel draws the same numbers as `tailwright.streams.stream(seed, method, row)`, without calling Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

_ROUNDS = 10
_MULTIPLY_0 = np.uint64(0xD2E7470EE14C6C93)
_MULTIPLY_1 = np.uint64(0xCA5A826395121157)
_BUMP_0 = np.uint64(0x9E3779B97F4A7C15)
_BUMP_1 = np.uint64(0xBB67AE8584CAA73B)
_ZERO = np.uint64(0)


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
