"""The largest products of queries with points, of which only some clusters and those named are looked at.

A query is compared with the centroids of the clusters, then with the points of the nearest of them and with
those that are named for it. Points are first looked at rounded to a byte a number; of those that may be among
the k best by the bounds of `tailwright.kernels.rounded`, products are computed in full. So among the points
that are looked at, the k best are always found.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tailwright.kernels.compiling import helper
from tailwright.kernels.ranking import best_first, better, find_label, offer
from tailwright.kernels.rounded import dot, round_query, rounded_dot


@njit(cache=True, nogil=True)
def nearest_in_clusters(
    queries: np.ndarray,  # (queries, width) float32
    named: np.ndarray,  # (queries, some) int32, -1 for none
    centroids: np.ndarray,  # (clusters, width) float32
    starts: np.ndarray,  # (clusters + 1,) int64: where the members of a cluster start
    members: np.ndarray,  # (points,) int32
    points: np.ndarray,  # (points, width) float32
    rounded: np.ndarray,  # what `round_points` gave for points[members]
    steps: np.ndarray,
    errors: np.ndarray,
    lengths: np.ndarray,
    probes: int,  # clusters that are looked at
    first: int,
    last: int,
    ids: np.ndarray,  # (queries, k) int32, filled with -1
    scores: np.ndarray,  # (queries, k) float32, filled with minus infinity
) -> None:
    """Fill rows first..last - 1 of ids and scores, best first, equal products by smaller place."""
    width, k = points.shape[1], ids.shape[1]
    most = 0
    for cluster in range(len(centroids)):
        most = max(most, starts[cluster + 1] - starts[cluster])
    places = np.empty(probes * most, np.int32)  # of the members that are looked at
    upper = np.empty(probes * most, np.float32)
    query = np.empty(width, np.int16)
    chosen, chosen_products = np.empty(probes, np.int32), np.empty(probes, np.float32)
    lower_places, lower = np.empty(k, np.int32), np.empty(k, np.float32)
    mine = np.empty(named.shape[1], np.int32)
    for row in range(first, last):
        clusters = 0
        for cluster in range(len(centroids)):
            product = dot(queries[row], centroids[cluster])
            if clusters < probes or product > chosen_products[0]:
                clusters = offer(chosen, chosen_products, clusters, cluster, product)
        step, of_error, of_length = round_query(queries[row], query)
        seen, size = 0, 0
        for c in range(clusters):
            for place in range(starts[chosen[c]], starts[chosen[c] + 1]):
                product = step * steps[place] * np.float32(rounded_dot(query, rounded[place]))
                bound = of_error * errors[place] + of_length * lengths[place]
                places[seen], upper[seen] = place, product + bound
                seen += 1
                if size < k or product - bound > lower[0]:
                    size = offer(lower_places, lower, size, place, product - bound)
        least = lower[0] if size == k else np.float32(-np.inf)
        mine[:] = named[row]
        mine.sort()
        size = 0
        for i in range(len(mine)):
            if mine[i] >= 0 and (i == 0 or mine[i] != mine[i - 1]):
                size = _keep(mine[i], queries[row], points, ids[row], scores[row], size)
        for i in range(seen):
            if upper[i] >= least and find_label(mine, 0, len(mine), members[places[i]]) < 0:
                size = _keep(members[places[i]], queries[row], points, ids[row], scores[row], size)
        best_first(ids[row], scores[row], size)


@helper
def _keep(
    point: int, query: np.ndarray, points: np.ndarray, ids: np.ndarray, scores: np.ndarray, size: int
) -> int:
    """Put a point on the heap of the best ones if it is one of them; returns the new size."""
    score = dot(query, points[point])
    if size < len(ids) or better(score, point, scores[0], ids[0]):
        return offer(ids, scores, size, point, score)
    return size
