"""The largest products of queries with many points, by a first look at points rounded to a byte a number.

With a query q and a point v rounded to q' and v',

    |q v - q' v'| <= |q| |v - v'| + |q - q'| |v'|

so the first look, which reads a quarter of the memory, says between which bounds each product lies. Only a
point whose upper bound reaches the k-th largest lower bound can be among the k best; its product is then
computed in full. The result is that of all products.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tailwright.kernels.compiling import HELPER, helper
from tailwright.kernels.ranking import best_first, better, offer

LEVELS = 127  # of a rounded number, on either side of 0
_QUERY_LEVELS = 32_767
_LARGEST_SUM = 2**31 - 1
# What rounding to float32 may change in a sum of products, for each number in it and each unit of |q| |v|.
_SLACK = 1e-7
# The lower bounds are ranked in groups: so many for each place, or more, of at most so many points.
_GROUPS_A_PLACE, _LARGEST_GROUP = 16, 64
_AT_ONCE = 64  # upper bounds that are looked at together


@njit(cache=True, nogil=True)
def round_points(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points (points, width) float32 as (rounded int8, step of each, |v - v'| of each, |v'| of each)."""
    count, width = points.shape
    rounded = np.empty((count, width), np.int8)
    steps, errors, lengths = np.empty((3, count), np.float32)
    for p in range(count):
        largest = np.float32(0)
        for d in range(width):
            largest = max(largest, abs(points[p, d]))
        step = largest / LEVELS if largest > 0 else 1.0
        error, length = 0.0, 0.0
        for d in range(width):
            level = round(points[p, d] / step)
            rounded[p, d] = level
            error += (points[p, d] - level * step) ** 2
            length += (level * step) ** 2
        steps[p], errors[p], lengths[p] = step, math.sqrt(error), math.sqrt(length)
    return rounded, steps, errors, lengths


@njit(**HELPER, fastmath={"reassoc", "contract"})
def dot(query: np.ndarray, point: np.ndarray) -> np.float32:
    """The product of two vectors in float32."""
    total = np.float32(0)
    for d in range(len(query)):
        total += query[d] * point[d]
    return total


@helper
def rounded_dot(query: np.ndarray, point: np.ndarray) -> np.int32:
    """The product of two rounded vectors, in their steps."""
    total = np.int32(0)
    for d in range(len(query)):
        total = np.int32(total + np.int32(query[d]) * np.int32(point[d]))
    return total


@helper
def round_query(query: np.ndarray, rounded: np.ndarray) -> tuple[np.float32, np.float32, np.float32]:
    """Fill `rounded` (width,) int16; returns its step, and the factors of |v - v'| and |v'| in the bounds."""
    width = len(query)
    levels = min(_QUERY_LEVELS, _LARGEST_SUM // (LEVELS * max(width, 1)))
    largest = np.float32(0)
    for d in range(width):
        largest = max(largest, abs(query[d]))
    step = largest / levels if largest > 0 else 1.0
    squares, error_squares = 0.0, 0.0
    for d in range(width):
        level = round(query[d] / step)
        rounded[d] = level
        error_squares += (query[d] - level * step) ** 2
        squares += query[d] ** 2
    length, slack = math.sqrt(squares), _SLACK * (width + 8)
    of_error, of_length = (1 + slack) * length, math.sqrt(error_squares) + slack * length
    return np.float32(step), np.float32(of_error), np.float32(of_length)


@helper
def _kth_largest(
    values: np.ndarray, most: np.ndarray, best: np.ndarray, best_values: np.ndarray
) -> np.float32:
    """A lower bound of the k-th largest of `values`: the k-th largest of their groups' largest.

    Group g, of as many as `most` has, are the values g, g + groups, ...: so the loop is vector code. There
    must be at least k groups.
    """
    groups = len(most)
    most[:] = values[:groups]
    for start in range(groups, len(values), groups):
        some = values[start : start + groups]
        for g in range(len(some)):
            most[g] = some[g] if some[g] > most[g] else most[g]
    size = 0
    for g in range(groups):
        if size < len(best) or most[g] > best_values[0]:
            size = offer(best, best_values, size, g, most[g])
    return best_values[0]


@njit(cache=True, nogil=True)
def nearest_rounded(
    queries: np.ndarray,  # (queries, width) float32
    points: np.ndarray,  # (points, width) float32
    rounded: np.ndarray,  # what `round_points` gave
    steps: np.ndarray,
    errors: np.ndarray,
    lengths: np.ndarray,
    ids: np.ndarray,  # (queries, k) int32, filled with -1
    scores: np.ndarray,  # (queries, k) float32, filled with minus infinity
) -> None:
    """Fill ids and scores, best first, equal products by smaller place; there must be at least k points."""
    count, width = points.shape
    k = ids.shape[1]
    query = np.empty(width, np.int16)
    dots = np.empty(count, np.float32)
    lower, upper = np.empty((2, count), np.float32)
    most = np.empty(min(max(_GROUPS_A_PLACE * k, count // _LARGEST_GROUP), count), np.float32)
    best, best_values = np.empty(k, np.int32), np.empty(k, np.float32)
    for row in range(len(queries)):
        step, of_error, of_length = round_query(queries[row], query)
        for p in range(count):
            dots[p] = rounded_dot(query, rounded[p])
        for p in range(count):
            product = step * steps[p] * dots[p]
            bound = of_error * errors[p] + of_length * lengths[p]
            lower[p] = product - bound
            upper[p] = product + bound
        least = _kth_largest(lower, most, best, best_values)
        size = 0
        for start in range(0, count, _AT_ONCE):
            some = upper[start : start + _AT_ONCE]
            hits = 0
            for i in range(len(some)):  # without an exit this is vector code
                hits += some[i] >= least
            if hits == 0:
                continue
            for i in range(len(some)):
                if some[i] >= least:
                    p = start + i
                    score = dot(queries[row], points[p])
                    if size < k or better(score, p, scores[row, 0], ids[row, 0]):
                        size = offer(ids[row], scores[row], size, p, score)
        best_first(ids[row], scores[row], size)
