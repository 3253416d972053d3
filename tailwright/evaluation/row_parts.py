"""`RowParts`: what each test row adds to a metric, so that rows can be drawn anew.

Every metric here is a ratio of two sums over rows. For P, nDCG and R a row could bring 1 and brings its share
of it; for PSP and PSnDCG it could bring the weight of its best labels and brings the weight of those found.
With both sums row by row, the metric of any other draw of the same rows is two products away:
`evaluation.bootstrap`. F1-macro and Coverage are means over labels and have no such parts.
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

MEANS = ("P", "nDCG", "R")
WEIGHTED = ("PSP", "PSnDCG", "PSnDCG-xclib")


@dataclass(frozen=True, eq=False)
class RowParts:
    """What each row brings to each metric and what it could bring; a metric is the ratio of the sums."""

    metrics: tuple[str, ...]
    found: np.ndarray  # (rows, metrics) float64
    possible: np.ndarray  # (rows, metrics) float64, 0 for a row that does not count

    def __post_init__(self) -> None:
        for name in ("found", "possible"):
            shape = getattr(self, name).shape
            if len(shape) != 2 or shape[1] != len(self.metrics) or shape != self.found.shape:
                raise ValueError(f"{name} has shape {shape}, expected (rows, {len(self.metrics)})")

    def values(self) -> dict[str, float]:
        """Each metric in percent; 0 where nothing could be found."""
        percent = ratio(self.found.sum(axis=0), self.possible.sum(axis=0))
        return dict(zip(self.metrics, percent.tolist(), strict=True))


def row_parts(
    top: np.ndarray | TopK,
    truth: sparse.sparray,
    inverse_propensity: np.ndarray | None,
    metrics: Sequence[str],
    excluded: sparse.sparray | None = None,
    mask: np.ndarray | None = None,
) -> RowParts:
    """The parts of `metrics` such as "P@1" or "PSP@5"; with a `mask` over labels, those of that slice.

    Arguments and conventions are those of `metrics_at_k` and `sliced_metrics`, and so are the ratios. In a
    slice a row counts if it has a true label of the slice; else every row counts.

    >>> truth = sparse.csr_array(np.array([[1, 0, 1], [0, 1, 0]]))
    >>> parts = row_parts(np.array([[0, 1], [2, 1]]), truth, None, ["P@1", "R@2"])
    >>> parts.found.tolist(), parts.values()
    ([[1.0, 0.5], [0.0, 1.0]], {'P@1': 50.0, 'R@2': 75.0})
    """
    asked = [_name_and_k(metric) for metric in metrics]
    judged = judge(top, truth, inverse_propensity, sorted({k for _, k in asked}), excluded)
    values = judged.truth.data
    if mask is not None:
        chosen = checked_mask("mask", mask, judged.labels)
        values = np.where(chosen[judged.truth.indices], values, 0.0)
    sums, has_truth, _ = add_up_blocks(judged, values, rows_a_block=1)
    counts = np.ones(judged.rows) if mask is None else has_truth.astype(np.float64)
    parts = [_parts(judged, sums, counts, name, k) for name, k in asked]
    found, possible = (np.stack([part[side] for part in parts], axis=1) for side in (0, 1))
    return RowParts(tuple(metrics), found, possible)


def _parts(
    judged: Judged, sums: np.ndarray, counts: np.ndarray, name: str, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """(found, possible) of each row out of `sums` (rows, quantities, ks)."""
    from tailwright.kernels import metrics as kernel

    place = judged.ks.index(k)
    if name in WEIGHTED:
        if judged.weights is None:
            raise ValueError(f"{name}@{k} needs inverse_propensity, got None")
        found, best = {
            "PSP": (kernel.WEIGHTED_HITS, kernel.WEIGHTED_BEST),
            "PSnDCG": (kernel.WEIGHTED_DCG, kernel.WEIGHTED_BEST_DCG),
            "PSnDCG-xclib": (kernel.NORMED_DCG, kernel.NORMED_BEST_DCG),
        }[name]
        return sums[:, found, place], sums[:, best, place]
    if name == "P":
        return sums[:, kernel.HITS, place] / k, counts
    return sums[:, {"nDCG": kernel.NDCG, "R": kernel.RECALL}[name], place], counts


def _name_and_k(metric: str) -> tuple[str, int]:
    name, _, k = metric.partition("@")
    if name not in MEANS + WEIGHTED or not k.isdecimal():
        known = ", ".join(f"{known}@k" for known in MEANS + WEIGHTED)
        raise ValueError(f"{metric!r} is not a sum over rows, expected one of {known}")
    return name, int(k)
