"""Spherical k-means of sparse vectors: a given number of clusters of any size.

Centroids are stored by column, (columns, clusters), so that an entry of a vector meets all clusters in
contiguous memory.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def nearest_centroids(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    centroids: np.ndarray,
    first: int,
    last: int,
    nearest: np.ndarray,
) -> float:
    """Fill nearest[first:last] with the centroid most similar to each vector; returns the sum of
    similarities.

    centroids: (columns, clusters). Equal similarities go to the smaller number.
    """
    clusters = centroids.shape[1]
    similarity = np.empty(clusters, dtype=np.float32)
    total = 0.0
    for row in range(first, last):
        similarity[:] = 0
        for p in range(indptr[row], indptr[row + 1]):
            value = data[p]
            column = centroids[indices[p]]
            for cluster in range(clusters):
                similarity[cluster] += value * column[cluster]
        best = 0
        for cluster in range(1, clusters):
            if similarity[cluster] > similarity[best]:
                best = cluster
        nearest[row] = best
        total += similarity[best]
    return total


@njit(cache=True, nogil=True)
def mean_directions(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, clusters: np.ndarray, centroids: np.ndarray
) -> None:
    """Fill centroids (columns, clusters) with the sums of the members' vectors, each scaled to length 1."""
    centroids[:] = 0
    for row in range(len(indptr) - 1):
        for p in range(indptr[row], indptr[row + 1]):
            centroids[indices[p], clusters[row]] += data[p]
    squares = np.zeros(centroids.shape[1], dtype=np.float64)
    for column in range(centroids.shape[0]):
        for cluster in range(centroids.shape[1]):
            squares[cluster] += centroids[column, cluster] * centroids[column, cluster]
    scales = np.zeros(centroids.shape[1], dtype=np.float32)
    for cluster in range(centroids.shape[1]):
        if squares[cluster] > 0:
            scales[cluster] = 1 / np.sqrt(squares[cluster])
    for column in range(centroids.shape[0]):
        for cluster in range(centroids.shape[1]):
            centroids[column, cluster] *= scales[cluster]
