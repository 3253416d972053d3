"""The candidates of a batch's rows from the clusters that each row's beam holds."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def beam_candidates(
    clusters: np.ndarray,  # (rows, beam) int32, best first, -1 for none
    members: np.ndarray,  # (clusters, most) int32: the labels of each cluster, -1 for none
    neighbours: np.ndarray,  # (labels, some) int32: labels that enter with a label, -1 for none
    ends: np.ndarray,  # (rows + 1,): where each row's positives start
    positives: np.ndarray,  # (pairs,) labels
    values: np.ndarray,  # (pairs,) float32 soft targets
    ignored_ends: np.ndarray,
    ignored: np.ndarray,
    adds_missed: bool,
    size: int,  # of a row's list
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(starts, labels, targets) of each row's candidates: the labels of its clusters, then their neighbours.

    A label is a row's candidate once, ignored labels never. A positive that the clusters do not hold is no
    candidate, unless `adds_missed`: then all positives come first.
    """
    rows, labels = len(ends) - 1, len(neighbours)
    starts = np.zeros(rows + 1, dtype=np.int64)
    candidates = np.empty(rows * size, dtype=np.int32)
    targets = np.empty(rows * size, dtype=np.float32)
    seen_by = np.full(labels, -1, dtype=np.int32)  # the last row that has met a label
    value_of = np.zeros(labels, dtype=np.float32)
    count = 0
    for row in range(rows):
        first = count
        full = count + size
        for p in range(ignored_ends[row], ignored_ends[row + 1]):
            seen_by[ignored[p]] = row
        for p in range(ends[row], ends[row + 1]):
            label = positives[p]
            value_of[label] = values[p]
            if adds_missed and seen_by[label] != row and count < full:
                seen_by[label] = row
                candidates[count] = label
                count += 1
        for cluster in clusters[row]:
            if cluster < 0:
                continue
            for label in members[cluster]:
                if label >= 0 and seen_by[label] != row and count < full:
                    seen_by[label] = row
                    candidates[count] = label
                    count += 1
        listed = count
        for place in range(first, listed):
            for label in neighbours[candidates[place]]:
                if label >= 0 and seen_by[label] != row and count < full:
                    seen_by[label] = row
                    candidates[count] = label
                    count += 1
        for place in range(first, count):
            targets[place] = value_of[candidates[place]]
        for p in range(ends[row], ends[row + 1]):
            value_of[positives[p]] = 0
        starts[row + 1] = count
    return starts, candidates[:count], targets[:count]
