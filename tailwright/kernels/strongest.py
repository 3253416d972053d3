"""The strongest edges of a label: the top few by weight, and always the edge to itself."""

from __future__ import annotations

import numpy as np
from numba import njit

from tailwright.kernels.ranking import insert


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
