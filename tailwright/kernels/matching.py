"""The columns of a sparse matrix with the largest products with sparse queries, without reading all of it.

The postings of a word are the columns that have it, with their weights; all weights are > 0. The words of a
query are taken from the one with the fewest postings on, and their products summed. No more than

    rest = min(Σ q_w largest_w, |q| longest)        over the words w that are left

can be added to a sum, with `largest_w` the largest weight of the word and `longest` the length of the longest
column. Once k sums are larger than `rest`, no column without a sum can be among the k best. Then products
are computed in full, by the columns' own words: those of k of the best columns, the smallest of which bounds
the k-th best from below; and those of all columns whose sum and `rest` reach that bound. The result is that
of all products, each summed in the order of words.

Words that nearly every column has are hardly ever read: of the 84,000 postings of a query for the 25 nearest
of 41,673 label texts, 18,000 are, and 100 products are computed.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numba import njit

from tailwright.kernels.compiling import helper
from tailwright.kernels.ranking import best_first, better, offer

# What the order of a sum in float32 may change in it, for each number and each unit of |q| |column|.
SLACK = 1e-6
# Before a word is read that more than this share of the columns has, the sums are looked at.
SHARE_TO_LOOK = 1 / 6
# They suffice if what is left can add this share of the k-th best sum. With more, fewer postings are read and
# more products computed, each of which takes as long as a hundred postings that are not in the cache.
ENOUGH = np.float32(0.4)
# Columns are looked at in groups: so many for each place of a ranking, or more, of at most so many columns.
GROUPS_A_PLACE, LARGEST_GROUP = 16, 64
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # an odd number near 2**64 / golden ratio
TINY = np.finfo(np.float32).tiny

Columns: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@njit(cache=True, nogil=True)
def nearest_columns(
    q_indptr: np.ndarray,  # queries: CSR (rows, words)
    q_words: np.ndarray,
    q_weights: np.ndarray,
    p_indptr: np.ndarray,  # postings: CSR (words, columns)
    p_columns: np.ndarray,
    p_weights: np.ndarray,
    c_indptr: np.ndarray,  # their transpose: CSR (columns, words), words ascending
    c_words: np.ndarray,  # (2 stored,) int32: words at even places,
    c_weights: np.ndarray,  # the same memory as float32: weights at odd places, so that one read has both
    largest: np.ndarray,  # (words,) float32: the largest weight of a word
    longest: float,  # the length of the longest column
    first: int,
    last: int,
    ids: np.ndarray,  # (rows, k) int32, filled with -1
    scores: np.ndarray,  # (rows, k) float32, filled with minus infinity
) -> None:
    """Fill rows first..last - 1 of ids and scores, best first, equal products by smaller column.

    A column that shares no word with a query is not ranked for it.
    """
    k, count = ids.shape[1], len(c_indptr) - 1
    sums = np.zeros(count, np.float32)
    largest_sums = np.empty(min(max(GROUPS_A_PLACE * k, count // LARGEST_GROUP + 1), count), np.float32)
    best, best_sums = np.empty(k, np.int32), np.empty(k, np.float32)
    most = 1
    for row in range(first, last):
        most = max(most, q_indptr[row + 1] - q_indptr[row])
    slots, slot_weights = _slots_for(most)
    columns = (c_indptr, c_words, c_weights, slots, slot_weights)
    order, rest = np.empty(most, np.int64), np.empty(most + 1, np.float32)
    for row in range(first, last):
        start, end = q_indptr[row], q_indptr[row + 1]
        words, weights = q_words[start:end], q_weights[start:end]
        _order_words(words, p_indptr, order)
        _bound_rest(words, weights, order, largest, longest, rest)
        _put_words(words, weights, slots, slot_weights)
        done = 0
        while True:
            if done < len(words):
                word, weight = words[order[done]], weights[order[done]]
                start, end = p_indptr[word], p_indptr[word + 1]
            if done == len(words) or end - start > SHARE_TO_LOOK * count:
                _find_largest(sums, largest_sums)
                found = _best_groups(largest_sums, best, best_sums)
                if done == len(words) or (found == k and rest[done] <= ENOUGH * best_sums[0]):
                    break
            for p in range(start, end):
                sums[p_columns[p]] += weight * p_weights[p]
            done += 1
        bound = np.float32(0)
        if found == k:
            bound = _smallest_product(sums, len(largest_sums), best, best_sums, columns)
        _rank_products(sums, largest_sums, bound, rest[done], columns, ids[row], scores[row])
        sums[:] = 0
        slots[:] = -1


@helper
def _order_words(words: np.ndarray, p_indptr: np.ndarray, order: np.ndarray) -> None:
    """order[:len(words)] = the places of the words, by rising number of postings: a Shell sort."""
    for i in range(len(words)):
        order[i] = i
    gap = len(words) // 2
    while gap:
        for i in range(gap, len(words)):
            place, at = order[i], i
            postings = p_indptr[words[place] + 1] - p_indptr[words[place]]
            while at >= gap:
                before = words[order[at - gap]]
                if p_indptr[before + 1] - p_indptr[before] <= postings:
                    break
                order[at] = order[at - gap]
                at -= gap
            order[at] = place
        gap //= 2


@helper
def _bound_rest(
    words: np.ndarray,
    weights: np.ndarray,
    order: np.ndarray,
    largest: np.ndarray,
    longest: float,
    rest: np.ndarray,
) -> None:
    """rest[i] = what the words from place i of `order` on can add to a sum; with the slack of float32."""
    total, squares = 0.0, 0.0
    for i in range(len(words)):
        squares += np.float64(weights[i]) ** 2
    slack = SLACK * (len(words) + 8) * math.sqrt(squares) * longest
    squares = 0.0
    rest[len(words)] = slack
    for i in range(len(words) - 1, -1, -1):
        word, weight = words[order[i]], np.float64(weights[order[i]])
        total += weight * largest[word]
        squares += weight * weight
        rest[i] = min(total, math.sqrt(squares) * longest) + slack


@helper
def _slots_for(words: int) -> tuple[np.ndarray, np.ndarray]:
    """A table for the words of a query and their weights, at most a quarter full: -1 is no word."""
    size = 4
    while size < 4 * words:
        size *= 2
    return np.full(size, -1, np.int32), np.empty(size, np.float32)


@helper
def _slot(word: int, slots: np.ndarray) -> np.int64:
    """Where a word is in the table, or where it would be put."""
    mask = len(slots) - 1
    slot = np.int64((np.uint64(word) * SPREAD) >> np.uint64(32)) & mask
    while slots[slot] >= 0 and slots[slot] != word:
        slot = (slot + 1) & mask
    return slot


@helper
def _put_words(words: np.ndarray, weights: np.ndarray, slots: np.ndarray, slot_weights: np.ndarray) -> None:
    for i in range(len(words)):
        slot = _slot(words[i], slots)
        slots[slot], slot_weights[slot] = words[i], weights[i]


@helper
def _find_largest(sums: np.ndarray, largest_sums: np.ndarray) -> None:
    """largest_sums[g] = the largest sum of group g: columns g, g + groups, g + 2 groups, ...

    Columns that stand together often have much in common, and the best ones are wanted from many groups.
    """
    # As whole numbers, which order floats >= 0 as they are ordered, this is vector code.
    bits, largest_bits = sums.view(np.int32), largest_sums.view(np.int32)
    largest_bits[:] = 0
    for start in range(0, len(bits), len(largest_bits)):
        some = bits[start : start + len(largest_bits)]
        for g in range(len(some)):
            largest_bits[g] = max(largest_bits[g], some[g])


@helper
def _best_groups(largest_sums: np.ndarray, best: np.ndarray, best_sums: np.ndarray) -> int:
    """Fill `best` with the groups of the largest sums, the smallest of these first; returns how many."""
    size = 0
    for g in range(len(largest_sums)):
        if largest_sums[g] > 0 and (size < len(best) or largest_sums[g] > best_sums[0]):
            size = offer(best, best_sums, size, g, largest_sums[g])
    return size


@helper
def _smallest_product(
    sums: np.ndarray, groups: int, best: np.ndarray, best_sums: np.ndarray, columns: Columns
) -> np.float32:
    """The smallest product of the columns that have the largest sums of the best groups."""
    smallest = np.float32(np.inf)
    for place in range(len(best)):
        column = best[place]
        while sums[column] < best_sums[place]:
            column += groups
        smallest = min(smallest, _product(column, columns))
    return smallest


@helper
def _rank_products(
    sums: np.ndarray,
    largest_sums: np.ndarray,
    bound: np.float32,
    rest: np.float32,
    columns: Columns,
    ids: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Fill ids and scores with the best of the columns whose sum, with `rest` added, reaches the bound."""
    size, least = 0, max(bound - rest, TINY)
    for g in range(len(largest_sums)):
        if largest_sums[g] >= least:
            for column in range(g, len(sums), len(largest_sums)):
                if sums[column] >= least:
                    product = _product(column, columns)
                    if size < len(ids) or better(product, column, scores[0], ids[0]):
                        size = offer(ids, scores, size, column, product)
                        if size == len(ids):
                            least = max(least, scores[0] - rest)
    best_first(ids, scores, size)


@helper
def _product(column: int, columns: Columns) -> np.float32:
    """The product of a column with the query in the table, summed by rising word."""
    c_indptr, c_words, c_weights, slots, slot_weights = columns
    total = np.float32(0)
    for p in range(c_indptr[column], c_indptr[column + 1]):
        slot = _slot(c_words[2 * p], slots)
        if slots[slot] >= 0:
            total += slot_weights[slot] * c_weights[2 * p + 1]
    return total
