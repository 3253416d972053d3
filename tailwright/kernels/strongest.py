"""The strongest edges of a label: the top few by weight, the label itself always among them."""

from __future__ import annotations

import numpy as np
from numba import njit

# (indptr, indices, data): CSR rows of length 1 with sorted indices; indptr of length 1 means "no vectors".
UnitRows = tuple[np.ndarray, np.ndarray, np.ndarray]


@njit(cache=True)
def keep_strongest(
    owner: int,
    labels: np.ndarray,  # candidates, in any order
    weights: np.ndarray,  # (all labels or as labels,) indexed by `places`
    places: np.ndarray,  # where a candidate's weight stands in `weights`
    count: int,  # how many candidates there are
    texts: UnitRows,
    least_similarity: float,
    out_labels: np.ndarray,  # (top + 1,) int32
    out_weights: np.ndarray,  # (top + 1,) float32
) -> int:
    """Write the strongest candidates in ascending order of labels; returns how many.

    Of equal weights the smaller label wins. Candidates whose text is less similar than `least_similarity` are
    passed over first. Where `owner` is not among the top, its weight is put back as one more edge, or 1 where
    it has none. Weights are compared as float32, in which sums that differ by rounding alone are equal.
    """
    top, filled = len(out_labels) - 1, 0
    own, kept_own = np.float32(1), False
    for candidate in range(count):
        label = labels[candidate]
        weight = np.float32(weights[places[candidate]])
        if label == owner:
            own = weight
        if filled == top and not _better(weight, label, out_weights[top - 1], out_labels[top - 1]):
            continue
        if label != owner and len(texts[0]) > 1 and _similarity(texts, owner, label) < least_similarity:
            continue
        place = min(filled, top - 1)
        while place > 0 and _better(weight, label, out_weights[place - 1], out_labels[place - 1]):
            out_weights[place], out_labels[place] = out_weights[place - 1], out_labels[place - 1]
            place -= 1
        out_weights[place], out_labels[place] = weight, label
        filled = min(filled + 1, top)
    for place in range(filled):
        kept_own = kept_own or out_labels[place] == owner
    if not kept_own:
        out_labels[filled], out_weights[filled] = owner, own
        filled += 1
    _sort_by_label(out_labels, out_weights, filled)
    return filled


@njit(cache=True, inline="always")
def _better(weight: np.float32, label: int, other_weight: np.float32, other_label: int) -> bool:
    return bool(weight > other_weight) or (bool(weight == other_weight) and label < other_label)


@njit(cache=True)
def _similarity(texts: UnitRows, one: int, other: int) -> float:
    """The product of two rows, by walking along both."""
    indptr, indices, data = texts
    a, a_end, b, b_end = indptr[one], indptr[one + 1], indptr[other], indptr[other + 1]
    product = 0.0
    while a < a_end and b < b_end:
        if indices[a] == indices[b]:
            product += data[a] * data[b]
            a += 1
            b += 1
        elif indices[a] < indices[b]:
            a += 1
        else:
            b += 1
    return product


@njit(cache=True)
def _sort_by_label(labels: np.ndarray, weights: np.ndarray, count: int) -> None:
    for i in range(1, count):
        label, weight, at = labels[i], weights[i], i
        while at > 0 and labels[at - 1] > label:
            labels[at], weights[at] = labels[at - 1], weights[at - 1]
            at -= 1
        labels[at], weights[at] = label, weight
