"""Random walks over labels that share rows: one walk per label, whose most visited labels are kept.

Each label draws from its own counter-based stream, so results do not depend on the number of threads; visits
are counted in a table of the walk's size, so memory does not grow with labels x steps.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from tailwright.kernels.philox import philox_block, wide_product
from tailwright.kernels.strongest import keep_strongest

# Labels that a thread takes at a time; threads take turns, as labels with close numbers may all be costly.
BLOCK = 64


@njit(cache=True, parallel=True)
def walk_labels(
    first: int,
    last: int,
    row_ptr: np.ndarray,  # (labels + 1,): the rows of label l are rows[row_ptr[l]:row_ptr[l + 1]]
    rows: np.ndarray,
    label_ptr: np.ndarray,  # (rows + 1,): the labels of row r are labels[label_ptr[r]:label_ptr[r + 1]]
    labels: np.ndarray,
    key: np.ndarray,  # (2,) uint64: the key of the stream
    steps: int,
    restart_up_to: np.uint64,  # a random word up to this restarts the walk
    table_size: int,  # a power of two above the number of labels that a walk can visit
    threads: int,
    out_labels: np.ndarray,  # (last - first, top + 1) int32
    out_weights: np.ndarray,  # (last - first, top + 1) float32
    out_counts: np.ndarray,  # (last - first,) int64
) -> None:
    """Walk from labels first..last-1 and keep their strongest edges, weighted by visits.

    A hop goes from a label to one of its rows, and from there to one of the row's labels, both drawn
    uniformly. A hop takes one word of the stream: what the two draws leave of it decides whether the next hop
    starts at home (the first label) or at the label reached. Labels without rows get no edge.
    """
    blocks = (last - first + BLOCK - 1) // BLOCK
    for thread in prange(threads):
        table = np.full(table_size, -1, dtype=np.int32)  # the label of each slot
        visits = np.empty(table_size, dtype=np.int32)
        reached = np.empty(table_size, dtype=np.int32)  # labels in the order of their first visit
        slots = np.empty(table_size, dtype=np.int64)  # and their slots in the table
        words = np.empty(4, dtype=np.uint64)
        for block in range(thread, blocks, threads):
            for home in range(first + block * BLOCK, min(first + (block + 1) * BLOCK, last)):
                out = home - first
                if row_ptr[home] == row_ptr[home + 1]:
                    out_counts[out] = 0
                    continue
                count, here = 0, home
                for step in range(steps):
                    if step % 4 == 0:
                        words[0], words[1], words[2], words[3] = philox_block(
                            key[0], key[1], np.uint64(home), np.uint64(step // 4)
                        )
                    start = row_ptr[here]
                    place, left = wide_product(words[step % 4], np.uint64(row_ptr[here + 1] - start))
                    row = rows[start + np.int64(place)]
                    start = label_ptr[row]
                    place, left = wide_product(left, np.uint64(label_ptr[row + 1] - start))
                    here = labels[start + np.int64(place)]

                    slot = np.int64((np.uint32(here) * np.uint32(2654435769)) & np.uint32(table_size - 1))
                    while table[slot] != here and table[slot] >= 0:
                        slot = (slot + 1) & (table_size - 1)
                    if table[slot] < 0:
                        table[slot], visits[slot] = here, 0
                        reached[count], slots[count] = here, slot
                        count += 1
                    visits[slot] += 1
                    if left <= restart_up_to:
                        here = home
                out_counts[out] = keep_strongest(
                    home, reached, visits, slots, count, out_labels[out], out_weights[out]
                )
                for visited in range(count):
                    table[slots[visited]] = -1
