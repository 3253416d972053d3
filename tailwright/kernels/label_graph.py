"""Edges of the label graph: the labels that a walk over shared rows visits most, drawn or exact.

Labels are spread over threads; each draws from its own counter-based stream, so results do not depend on the
number of threads. Nothing of size labels x labels or labels x steps is built.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from tailwright.kernels.draws import philox_block, wide_product
from tailwright.kernels.ranking import insert

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


@njit(cache=True, parallel=True)
def expected_visits(
    first: int,
    last: int,
    row_ptr: np.ndarray,  # (labels + 1,): the rows of label l are rows[row_ptr[l]:row_ptr[l + 1]]
    rows: np.ndarray,
    label_ptr: np.ndarray,  # (rows + 1,): the labels of row r are labels[label_ptr[r]:label_ptr[r + 1]]
    labels: np.ndarray,
    hop_weights: np.ndarray,  # (hops,) float64: the share of visits that are h hops from home
    label_masses: np.ndarray,  # (threads, labels) float64
    totals: np.ndarray,  # (threads, labels) float64
    labels_seen_by: np.ndarray,  # (threads, labels) int32, the last label that reached a label; -1 at first
    reached_labels: np.ndarray,  # (threads, labels) int32
    row_masses: np.ndarray,  # (threads, rows) float64
    rows_seen_by: np.ndarray,  # (threads, rows) int32, -1 at first
    reached_rows: np.ndarray,  # (threads, rows) int32
    out_labels: np.ndarray,  # (last - first, top + 1) int32
    out_weights: np.ndarray,  # (last - first, top + 1) float32
    out_counts: np.ndarray,  # (last - first,) int64
) -> None:
    """Keep the strongest edges of labels first..last-1, weighted by the expected share of visits.

    A hop spreads a label's mass evenly over its rows, and a row's mass evenly over its labels. A row always
    gives some back to the label it came from, so labels stay reached and the lists only grow.
    """
    threads = label_masses.shape[0]
    blocks = (last - first + BLOCK - 1) // BLOCK
    for thread in prange(threads):
        mass, total, seen_by = label_masses[thread], totals[thread], labels_seen_by[thread]
        reached = reached_labels[thread]
        row_mass, row_seen_by, via = row_masses[thread], rows_seen_by[thread], reached_rows[thread]
        for block in range(thread, blocks, threads):
            for home in range(first + block * BLOCK, min(first + (block + 1) * BLOCK, last)):
                out = home - first
                if row_ptr[home] == row_ptr[home + 1]:
                    out_counts[out] = 0
                    continue
                reached[0], mass[home], total[home], seen_by[home] = home, 1.0, 0.0, home
                count, row_count = 1, 0
                for hop in range(len(hop_weights)):
                    for place in range(row_count):
                        row_mass[via[place]] = 0
                    for place in range(count):
                        label = reached[place]
                        start, end = row_ptr[label], row_ptr[label + 1]
                        share = mass[label] / (end - start)
                        mass[label] = 0
                        for at in range(start, end):
                            row = rows[at]
                            if row_seen_by[row] != home:
                                row_seen_by[row], row_mass[row], via[row_count] = home, 0.0, row
                                row_count += 1
                            row_mass[row] += share
                    for place in range(row_count):
                        row = via[place]
                        start, end = label_ptr[row], label_ptr[row + 1]
                        share = row_mass[row] / (end - start)
                        for at in range(start, end):
                            label = labels[at]
                            if seen_by[label] != home:
                                seen_by[label], mass[label], total[label] = home, 0.0, 0.0
                                reached[count] = label
                                count += 1
                            mass[label] += share
                    for place in range(count):
                        total[reached[place]] += hop_weights[hop] * mass[reached[place]]
                out_counts[out] = keep_strongest(
                    home, reached, total, reached, count, out_labels[out], out_weights[out]
                )


@njit(cache=True)
def keep_strongest(
    owner: int,
    labels: np.ndarray,  # candidates, in any order
    weights: np.ndarray,  # (all labels or as labels,) indexed by `places`
    places: np.ndarray,  # the place of each candidate's weight in `weights`
    count: int,  # the number of candidates
    out_labels: np.ndarray,  # (top + 1,) int32
    out_weights: np.ndarray,  # (top + 1,) float32
) -> int:
    """Write the strongest candidates in ascending order of labels; returns how many.

    Of equal weights the smaller label wins. If `owner` is not among the top, its edge is added with its
    weight, or 1 if it has none. Weights are compared as float32, in which sums that differ only by rounding
    are equal.
    """
    top, filled = len(out_labels) - 1, 0
    top_labels, top_weights = out_labels[:top], out_weights[:top]
    own, kept_own = np.float32(1), False
    for candidate in range(count):
        label = labels[candidate]
        weight = np.float32(weights[places[candidate]])
        if label == owner:
            own = weight
        filled = insert(top_labels, top_weights, filled, label, weight)
    for place in range(filled):
        kept_own = kept_own or out_labels[place] == owner
    if not kept_own:
        out_labels[filled], out_weights[filled] = owner, own
        filled += 1
    _sort_by_label(out_labels, out_weights, filled)
    return filled


@njit(cache=True)
def _sort_by_label(labels: np.ndarray, weights: np.ndarray, count: int) -> None:
    for i in range(1, count):
        label, weight, at = labels[i], weights[i], i
        while at > 0 and labels[at - 1] > label:
            labels[at], weights[at] = labels[at - 1], weights[at - 1]
            at -= 1
        labels[at], weights[at] = label, weight
