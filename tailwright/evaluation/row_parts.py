"""`RowParts`: what each test row contributes to a metric, so that rows can be resampled.

Every metric here is a ratio of two sums over rows. For P, nDCG and R a row can contribute up to 1; for PSP
and PSnDCG, up to the weight of its best labels. With both sums row by row, the metric of any resampling of
the rows takes two products (`bootstrap.py`). F1-macro and Coverage, means over labels, are no such sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tailwright.evaluation.judged import Judged, judge
from tailwright.evaluation.metrics import add_up_blocks, ratio
from tailwright.evaluation.ranking import TopK
from tailwright.evaluation.slices import checked_mask
from tailwright.kernels import metrics as kernel

MEANS = ("P", "nDCG", "R")
WEIGHTED = ("PSP", "PSnDCG", "PSnDCG-xclib")


@dataclass(frozen=True, eq=False)
class RowParts:
    """What each row contributes to each metric, and what it could; a metric is the ratio of the sums."""

    metrics: tuple[str, ...]
    achieved: np.ndarray  # (rows, metrics) float64
    possible: np.ndarray  # (rows, metrics) float64, 0 for a row that does not count

    def __post_init__(self) -> None:
        for name in ("achieved", "possible"):
            shape = getattr(self, name).shape
            if len(shape) != 2 or shape[1] != len(self.metrics) or shape != self.achieved.shape:
                raise ValueError(f"{name} has shape {shape}, expected (rows, {len(self.metrics)})")

    def values(self) -> dict[str, float]:
        """Each metric in percent; 0 where nothing is possible."""
        percent = ratio(self.achieved.sum(axis=0), self.possible.sum(axis=0))
        return dict(zip(self.metrics, percent.tolist(), strict=True))


def row_parts(
    top: np.ndarray | TopK,
    truth: sparse.sparray,
    inverse_propensity: np.ndarray | None,
    metrics: Sequence[str],
    excluded: sparse.sparray | None = None,
    mask: np.ndarray | None = None,
) -> RowParts:
    """The rows' contributions to `metrics` such as "P@1" or "PSP@5"; with a `mask` of labels, in that slice.

    Arguments, conventions and ratios are those of `metrics_at_k` and `sliced_metrics`. In a slice a row
    counts if it has a true label of the slice; otherwise every row counts.

    >>> truth = sparse.csr_array(np.array([[1, 0, 1], [0, 1, 0]]))
    >>> parts = row_parts(np.array([[0, 1], [2, 1]]), truth, None, ["P@1", "R@2"])
    >>> parts.achieved.tolist(), parts.values()
    ([[1.0, 0.5], [0.0, 1.0]], {'P@1': 50.0, 'R@2': 75.0})
    """
    names = [_name_and_k(metric) for metric in metrics]
    judged = judge(top, truth, inverse_propensity, sorted({k for _, k in names}), excluded)
    values = judged.truth.data
    if mask is not None:
        in_slice = checked_mask("mask", mask, judged.labels)
        values = np.where(in_slice[judged.truth.indices], values, 0.0)
    sums, has_truth, _ = add_up_blocks(judged, values, rows_per_block=1)
    counts = np.ones(judged.rows) if mask is None else has_truth.astype(np.float64)
    columns = [_columns(judged, sums, counts, name, k) for name, k in names]
    achieved, possible = (np.stack(column, axis=1) for column in zip(*columns, strict=True))
    return RowParts(tuple(metrics), achieved, possible)


def _columns(
    judged: Judged, sums: np.ndarray, counts: np.ndarray, name: str, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """(achieved, possible) of each row from `sums` (rows, quantities, ks)."""
    place = judged.ks.index(k)
    if name in WEIGHTED:
        if judged.weights is None:
            raise ValueError(f"{name}@{k} needs inverse_propensity, got None")
        achieved, best = {
            "PSP": (kernel.WEIGHTED_HITS, kernel.WEIGHTED_BEST),
            "PSnDCG": (kernel.WEIGHTED_DCG, kernel.WEIGHTED_BEST_DCG),
            "PSnDCG-xclib": (kernel.NORMED_DCG, kernel.NORMED_BEST_DCG),
        }[name]
        return sums[:, achieved, place], sums[:, best, place]
    if name == "P":
        return sums[:, kernel.HITS, place] / k, counts
    return sums[:, {"nDCG": kernel.NDCG, "R": kernel.RECALL}[name], place], counts


def _name_and_k(metric: str) -> tuple[str, int]:
    name, _, k = metric.partition("@")
    if name not in MEANS + WEIGHTED or not k.isdecimal():
        known = ", ".join(f"{known}@k" for known in MEANS + WEIGHTED)
        raise ValueError(f"{metric!r} is not a sum over rows, expected one of {known}")
    return name, int(k)
