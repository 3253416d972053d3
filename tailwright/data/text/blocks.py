"""Rows cut into blocks of equal work for `kernels.blocks`, and the results of blocks joined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numba
import numpy as np

from tailwright.data.pairs import CsrArrays

# Below this, a thread costs more than it saves: 64 KB of text takes less than a millisecond.
SMALLEST_BLOCK = 1 << 16


def row_blocks(offsets: np.ndarray, threads: int | None = None) -> list[tuple[int, int]]:
    """(first, last) row of each block: a block per thread, each with about the same share of `offsets[-1]`.

    `threads` is numba's own number by default; small inputs stay in one block.
    """
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be >= 1, got {threads}")
    rows, work = len(offsets) - 1, int(offsets[-1] - offsets[0])
    blocks = min(work // SMALLEST_BLOCK, rows)
    if blocks > 1:  # asked only now, since the first call starts numba's own threads
        blocks = min(blocks, threads or numba.get_num_threads())
    if blocks <= 1:
        return [(0, rows)]
    shares = offsets[0] + work * np.arange(1, blocks) // blocks
    cuts = [0, *np.searchsorted(offsets, shares).tolist(), rows]
    return [(first, last) for first, last in pairwise(cuts) if first < last]


def joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The arrays of all blocks as one; a single array is not copied."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def row_offsets(ends: Sequence[np.ndarray]) -> np.ndarray:
    """(rows + 1,) int64 offsets into the joined arrays, from the ends of the rows in each block's array."""
    sizes = [int(block[-1]) if len(block) else 0 for block in ends]
    starts = np.cumsum([0, *sizes[:-1]])
    return np.concatenate(
        [np.zeros(1, np.int64), *(block + start for block, start in zip(ends, starts, strict=True))]
    )


def joined_rows(blocks: Iterable[CsrArrays]) -> CsrArrays:
    """(indptr, columns, weights) of all rows, from the (columns, weights, ends of the rows) of each block.

    Blocks are taken in as they come, so that there are never two copies of all; a single one is not copied.
    """
    rest = iter(blocks)
    columns, weights, ends = next(rest)
    every, at = [np.zeros(1, np.int64), ends], len(columns)
    for number, (more, more_weights, more_ends) in enumerate(rest):
        if not number:  # a view cannot grow
            columns, weights = columns.copy(), weights.copy()
        for array in (columns, weights):
            array.resize(at + len(more), refcheck=False)
        columns[at:], weights[at:] = more, more_weights
        every.append(more_ends + at)
        at += len(more)
    return np.concatenate(every), columns, weights
