"""Kernels behind the ranking metrics: cut the rankings, add up the rows, count by label.

Sums over rows are taken in blocks of a fixed number of rows, and the blocks are added in order, so that the
result does not depend on the number of threads. Blocks of one row give each row's contribution.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tailwright.kernels.blocks import run_rows
from tailwright.kernels.compiling import helper
from tailwright.kernels.ranking import find_label

ROWS_PER_BLOCK = 1024

# The sums of `score_rankings` for each k; y is the truth's value, q the label's weight, d the discount.
HITS = 0  # sum of y over the first k
NDCG = 1  # sum of y d, over the same for the best possible order
RECALL = 2  # sum of y over the first k, over the row's whole sum of y
WEIGHTED_HITS = 3  # sum of q y
WEIGHTED_BEST = 4  # the largest possible sum of q y
WEIGHTED_DCG = 5  # sum of q y d
WEIGHTED_BEST_DCG = 6  # the largest possible sum of q y d
NORMED_DCG = 7  # sum of q y d, over the row's best sum of y d
NORMED_BEST_DCG = 8  # the largest possible sum of q y d, over the row's best sum of y d
QUANTITIES = 9


def cut_rankings(
    top_ids: np.ndarray,  # (rows, width), -1 where there is no prediction
    skip_indptr: np.ndarray,  # (rows + 1,)
    skip_indices: np.ndarray,  # sorted in each row
    cut: np.ndarray,  # (rows, depth), filled with -1
    repeated: np.ndarray,  # (rows,), filled with -1
) -> None:
    """The first `depth` ids of each ranking that are neither padding nor to be skipped.

    A label that a row ranks twice, at whatever rank, is written to `repeated`.
    """
    slots = max(8, 1 << (2 * top_ids.shape[1] - 1).bit_length())

    def cut_block(first: int, last: int) -> None:
        # A hash table of the labels seen in a row: at most half full, and emptied by going to the next row.
        seen, seen_in = np.empty(slots, dtype=np.int64), np.full(slots, -1, dtype=np.int64)
        _cut_rankings(top_ids, skip_indptr, skip_indices, cut, repeated, seen, seen_in, first, last)

    run_rows(cut_block, len(top_ids), ROWS_PER_BLOCK)


@njit(cache=True, nogil=True)
def _cut_rankings(
    top_ids: np.ndarray,
    skip_indptr: np.ndarray,
    skip_indices: np.ndarray,
    cut: np.ndarray,
    repeated: np.ndarray,
    seen: np.ndarray,  # (slots,): a label
    seen_in: np.ndarray,  # (slots,): the row that it was seen in
    first: int,
    last: int,
) -> None:
    last_slot = len(seen) - 1
    for row in range(first, last):
        skip_from, skip_to = skip_indptr[row], skip_indptr[row + 1]
        kept = 0
        for rank in range(top_ids.shape[1]):
            label = int(top_ids[row, rank])
            if label < 0:
                continue
            slot = (label * 0x9E3779B1 >> 16) & last_slot
            while seen_in[slot] == row:
                if seen[slot] == label:
                    repeated[row] = label
                    break
                slot = (slot + 1) & last_slot
            seen[slot], seen_in[slot] = label, row
            if kept < cut.shape[1] and find_label(skip_indices, skip_from, skip_to, label) < 0:
                cut[row, kept] = label
                kept += 1


@njit(cache=True, nogil=True)
def zero_pairs(
    indptr: np.ndarray,  # (rows + 1,)
    indices: np.ndarray,  # sorted in each row
    values: np.ndarray,  # (stored,), changed in place
    skip_indptr: np.ndarray,  # (rows + 1,)
    skip_indices: np.ndarray,  # sorted in each row
) -> None:
    """Set the value of every pair that is to be skipped to zero."""
    for row in range(len(indptr) - 1):
        for entry in range(skip_indptr[row], skip_indptr[row + 1]):
            place = find_label(indices, indptr[row], indptr[row + 1], skip_indices[entry])
            if place >= 0:
                values[place] = 0.0


@helper
def _insert_descending(best: np.ndarray, size: int, value: float) -> int:
    """Keep the largest values seen in `best[:size]`, in descending order; returns the new size."""
    if size < len(best):
        size += 1
    elif size == 0 or value <= best[size - 1]:
        return size
    place = size - 1
    while place > 0 and best[place - 1] < value:
        best[place] = best[place - 1]
        place -= 1
    best[place] = value
    return size


def score_rankings(
    cut: np.ndarray,  # (rows, depth of the rankings), -1 after the last prediction
    indptr: np.ndarray,  # (rows + 1,)
    indices: np.ndarray,  # the truth, sorted in each row
    values: np.ndarray,  # (stored,), zero where a label is not to be counted
    weights: np.ndarray,  # (labels,), or empty: then weighted sums stay zero
    discounts: np.ndarray,  # (depth,) of the largest k
    ends: np.ndarray,  # (ks,) ascending, each <= depth
    rows_per_block: int,
    sums: np.ndarray,  # (blocks, QUANTITIES, ks), filled with zeros
    rows_with_truth: np.ndarray,  # (blocks,), filled with zeros
    places: np.ndarray,  # (stored,), filled with -1: the rank of each true label in its row's ranking
) -> None:
    """Add up every quantity of every row for every k, in blocks of rows."""
    depth, blocks = len(discounts), len(sums)

    def score_blocks(first: int, last: int) -> None:
        best, weighted_best = np.empty(depth), np.empty(depth)
        _score_rankings(
            *(cut, indptr, indices, values, weights, discounts, ends, rows_per_block),
            *(sums, rows_with_truth, places, best, weighted_best, first, last),
        )

    run_rows(score_blocks, blocks, max(1, ROWS_PER_BLOCK // rows_per_block))


@njit(cache=True, nogil=True)
def _score_rankings(
    cut: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    weights: np.ndarray,
    discounts: np.ndarray,
    ends: np.ndarray,
    rows_per_block: int,
    sums: np.ndarray,
    rows_with_truth: np.ndarray,
    places: np.ndarray,
    best: np.ndarray,  # (depth,): the row's largest y
    weighted_best: np.ndarray,  # (depth,): the row's largest q y
    first: int,
    last: int,
) -> None:
    rows, width = cut.shape
    depth = len(discounts)
    weighted = len(weights) > 0
    for block in range(first, last):
        for row in range(block * rows_per_block, min(rows, (block + 1) * rows_per_block)):
            start, end = indptr[row], indptr[row + 1]
            size = weighted_size = np.int64(0)
            whole = 0.0
            for entry in range(start, end):
                value = values[entry]
                if value > 0:
                    whole += value
                    size = _insert_descending(best, size, value)
                    if weighted:
                        gain = weights[indices[entry]] * value
                        weighted_size = _insert_descending(weighted_best, weighted_size, gain)
            if whole == 0:
                continue
            rows_with_truth[block] += 1
            hits = dcg = best_dcg = 0.0
            weighted_hits = weighted_dcg = weighted_top = weighted_top_dcg = 0.0
            k = 0
            for rank in range(depth):
                discount = discounts[rank]
                label = cut[row, rank] if rank < width else -1
                if label >= 0:
                    place = find_label(indices, start, end, label)
                    if place >= 0:
                        places[place] = rank
                        value = values[place]
                        hits += value
                        dcg += value * discount
                        if weighted:
                            gain = weights[label] * value
                            weighted_hits += gain
                            weighted_dcg += gain * discount
                if rank < size:
                    best_dcg += best[rank] * discount
                if rank < weighted_size:
                    weighted_top += weighted_best[rank]
                    weighted_top_dcg += weighted_best[rank] * discount
                while k < len(ends) and ends[k] == rank + 1:
                    sums[block, HITS, k] += hits
                    sums[block, NDCG, k] += dcg / best_dcg
                    sums[block, RECALL, k] += hits / whole
                    if weighted:
                        sums[block, WEIGHTED_HITS, k] += weighted_hits
                        sums[block, WEIGHTED_BEST, k] += weighted_top
                        sums[block, WEIGHTED_DCG, k] += weighted_dcg
                        sums[block, WEIGHTED_BEST_DCG, k] += weighted_top_dcg
                        sums[block, NORMED_DCG, k] += weighted_dcg / best_dcg
                        sums[block, NORMED_BEST_DCG, k] += weighted_top_dcg / best_dcg
                    k += 1


def count_by_label(
    cut: np.ndarray,  # (rows, depth of the rankings), -1 after the last prediction
    indices: np.ndarray,  # (stored,) the truth
    values: np.ndarray,  # (stored,)
    places: np.ndarray,  # (stored,) from `score_rankings`
    ends: np.ndarray,  # (ks,) ascending
    predicted: np.ndarray,  # (labels, ks), filled with zeros: rows that rank the label in their first k
    hits: np.ndarray,  # (labels, ks), filled with zeros: sum of y over those rows
    mass: np.ndarray,  # (labels,), filled with zeros: sum of y over all rows
) -> None:
    """Count predictions, hits and truth of each label, for every k."""
    labels, ks = predicted.shape
    first_k = np.searchsorted(
        ends, np.arange(ends[-1]), side="right"
    )  # of each rank: the first k that has it
    for rank in range(cut.shape[1]):
        ranked = cut[:, rank]
        predicted[:, first_k[rank]] += np.bincount(ranked[ranked >= 0], minlength=labels)
    mass += np.bincount(indices, weights=values, minlength=labels)
    found = places >= 0
    pairs = indices[found] * np.int64(ks) + first_k[places[found]]
    hits += np.bincount(pairs, weights=values[found], minlength=hits.size).reshape(hits.shape)
    for counts in (predicted, hits):
        np.cumsum(counts, axis=1, out=counts)
