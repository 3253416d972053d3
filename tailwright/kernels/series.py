"""The exact expected shares of a walk's visits, label by label: a sum over the first few hops.

Each thread needs a few numbers per label and per row; the matrix of all hops is never built.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from tailwright.kernels.strongest import keep_strongest
from tailwright.kernels.walk import BLOCK


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
