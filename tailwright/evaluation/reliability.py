"""Reliability: whether of all labels with a probability of 0.7, seven in ten are right.

docs/metrics.md has the formula of the expected calibration error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from tailwright.data.pairs import values_at

BINS = 15  # of equal width, as in Guo et al. 2017


def calibration_errors(
    top_ids: np.ndarray,
    probabilities: np.ndarray,
    truth: sparse.csr_array,
    ks: Sequence[int],
    excluded: sparse.csr_array | None = None,
    mask: np.ndarray | None = None,
) -> dict[str, float]:
    """The expected calibration error of the first k labels of all rows, in percent: `ECE@k` for each k.

    `probabilities` are those of `top_ids` (rows, width). Excluded pairs leave rankings before these are cut
    to k. With a `mask` (labels,) only the predictions of its labels count; a k without any is left out.

    >>> truth = sparse.csr_array(np.array([[1, 0, 0], [0, 1, 0]]))
    >>> top_ids, probabilities = np.array([[0, 1], [0, 1]]), np.array([[0.9, 0.2], [0.9, 0.2]])
    >>> {k: round(error, 1) for k, error in calibration_errors(top_ids, probabilities, truth, (1, 2)).items()}
    {'ECE@1': 40.0, 'ECE@2': 35.0}
    """
    pairs, named = ranked_pairs(top_ids, truth.shape[1])
    values, counted = values_at(truth, pairs), np.ones(pairs.nnz, dtype=bool)
    if excluded is not None:
        counted = values_at(excluded, pairs) == 0
    kept = np.zeros(top_ids.shape, dtype=bool)
    kept[named] = counted
    places = (np.cumsum(kept, axis=1) - 1)[named]  # without the excluded pairs before it
    if mask is not None:
        counted &= mask[pairs.indices]
    said = probabilities[named]
    bins = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    errors = {}
    for k in sorted(set(ks)):
        used = counted & (places < k)
        if used.any():
            gaps = np.bincount(bins[used], said[used] - values[used], BINS)
            errors[f"ECE@{k}"] = float(100 * np.abs(gaps).sum() / used.sum())
    return errors


def ranked_pairs(top_ids: np.ndarray, labels: int) -> tuple[sparse.csr_array, np.ndarray]:
    """The pairs of row and label that rankings name, in their order, and a mask (rows, width) of them."""
    named = top_ids >= 0
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(named.sum(axis=1))])
    ids = top_ids[named]
    return sparse.csr_array((np.ones(len(ids), np.float32), ids, starts), (len(top_ids), labels)), named
