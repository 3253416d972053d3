"""`Judged`: rankings and truth, checked and cut, as the metrics need them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tailwright.evaluation.ranking import PADDING, TopK, canonical, excluded_arrays, for_kernel
from tailwright.kernels.metrics import cut_rankings, zero_pairs


@dataclass(frozen=True, eq=False)
class Judged:
    """Rankings without padding and excluded pairs, and the truth without excluded pairs; made by `judge`.

    `truth` has sorted indices; zero means "not true". No ranking is longer than the number of labels, so
    `ends` are the `ks` capped at it: k = 10**9 costs no memory.
    """

    ks: tuple[int, ...]  # ascending
    ends: np.ndarray  # (ks,) int64
    cut: np.ndarray  # (rows, <= largest k) int32, -1 after the last prediction
    truth: sparse.csr_array  # (rows, labels) float64, values in [0, 1]
    weights: np.ndarray | None  # (labels,) float64: inverse propensities

    @property
    def rows(self) -> int:
        return int(self.truth.shape[0])

    @property
    def labels(self) -> int:
        return int(self.truth.shape[1])


def judge(
    top_ids: np.ndarray | TopK,
    truth: sparse.sparray,
    weights: np.ndarray | None,
    ks: Sequence[int],
    excluded: sparse.sparray | None,
) -> Judged:
    """Check everything that a caller can get wrong, then cut the rankings and the truth."""
    ks = _checked_ks(ks)
    values = _checked_truth(truth)
    rows, labels = values.shape
    ids = _checked_ids(top_ids, rows, labels)
    if weights is not None:
        weights = _checked_weights(weights, labels)
    skip_indptr, skip_indices = excluded_arrays(excluded, values.shape)
    ends = np.array([min(k, labels) for k in ks], dtype=np.int64)
    cut = np.full((rows, min(int(ends[-1]), ids.shape[1])), PADDING, dtype=np.int32)
    repeated = np.full(rows, PADDING, dtype=np.int32)
    cut_rankings(ids, skip_indptr, skip_indices, cut, repeated)
    if (repeated != PADDING).any():
        row = int(np.argmax(repeated != PADDING))
        raise ValueError(f"row {row} of top_ids ranks label {repeated[row]} twice")
    if len(skip_indices):
        zero_pairs(values.indptr, values.indices, values.data, skip_indptr, skip_indices)
    return Judged(ks, ends, cut, values, weights)


def _checked_ks(ks: Sequence[int]) -> tuple[int, ...]:
    if not len(ks):
        raise ValueError("ks is empty, expected at least one k")
    for k in ks:
        if not isinstance(k, (int, np.integer)) or k < 1:
            raise ValueError(f"ks must be integers >= 1, got {k!r}")
    return tuple(sorted({int(k) for k in ks}))


def _checked_truth(truth: sparse.sparray) -> sparse.csr_array:
    """A copy with float64 values, in which excluded pairs can be zeroed."""
    if not sparse.issparse(truth) or truth.ndim != 2:
        raise ValueError(f"truth must be a sparse matrix (rows, labels), got {type(truth).__name__}")
    if truth.shape[0] == 0:
        raise ValueError("truth has no rows")
    if truth.shape[1] >= 2**31:
        raise ValueError(f"truth has {truth.shape[1]} labels, expected fewer than 2**31")
    csr = canonical(truth, "truth")
    values = csr.data.astype(np.float64)
    in_range = (values >= 0) & (values <= 1)
    if not in_range.all():
        raise ValueError(f"truth must be in [0, 1], got {values[~in_range][0]}")
    copy = sparse.csr_array(csr.shape, dtype=np.float64)
    # Set one by one: the constructor would narrow indptr to int32, and the kernels take one type only.
    copy.data, copy.indices, copy.indptr = values, csr.indices.astype(np.int32), csr.indptr.astype(np.int64)
    return copy


def _checked_ids(top_ids: np.ndarray | TopK, rows: int, labels: int) -> np.ndarray:
    ids = np.asarray(top_ids.ids if isinstance(top_ids, TopK) else top_ids)
    if ids.ndim != 2 or (ids.size and ids.dtype.kind not in "iu"):
        raise ValueError(f"top_ids must be integers (rows, width), got {ids.dtype} {ids.shape}")
    if len(ids) != rows:
        raise ValueError(f"top_ids has {len(ids)} rows, truth has {rows}")
    if ids.size and (ids.min() < PADDING or ids.max() >= labels):
        bad = ids[(ids < PADDING) | (ids >= labels)][0]
        raise ValueError(f"top_ids has label {bad}, expected -1 (padding) or 0..{labels - 1}")
    return for_kernel(ids, np.int32)


def _checked_weights(weights: np.ndarray, labels: int) -> np.ndarray:
    checked = for_kernel(weights, np.float64)
    if checked.shape != (labels,):
        raise ValueError(f"inverse_propensity has shape {checked.shape}, expected ({labels},)")
    usable = np.isfinite(checked) & (checked > 0)
    if not usable.all():
        raise ValueError(f"inverse_propensity must be finite and > 0, got {checked[~usable][0]}")
    return checked
