"""A kernel over blocks of rows, a block a thread.

Such a kernel is serial, takes the first and last row of a block and releases the GIL. With numba's own
`parallel=True` instead, a kernel takes two to five times as long to compile, and to load.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import TypeVar

from numba import get_num_threads

Result = TypeVar("Result")


def run_blocks(kernel: Callable[[int, int], Result], blocks: Sequence[tuple[int, int]]) -> list[Result]:
    """`kernel(first, last)` of each block, in order; the calling thread takes the last of several blocks."""
    if not blocks:
        return []
    *others, own = blocks
    waited_for = [_pool(os.getpid()).submit(kernel, *block) for block in others]
    result = kernel(*own)
    return [*(other.result() for other in waited_for), result]


def run_rows(kernel: Callable[[int, int], object], rows: int, fewest: int) -> None:
    """`kernel(first, last)` over all rows, in a block a thread; no block has less than `fewest` rows."""
    blocks = min(rows // fewest, get_num_threads()) if rows >= 2 * fewest else 1
    run_blocks(kernel, list(pairwise(rows * block // blocks for block in range(blocks + 1))))


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """The threads of a process; one that was forked has none of its parent's."""
    del process
    return ThreadPoolExecutor()
