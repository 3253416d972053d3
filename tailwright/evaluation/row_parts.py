"""`RowParts`: what each test row contributes to a metric; `Draws`: rows resampled with replacement.

Every metric here is a ratio of two sums over rows. For P, nDCG and R a row can contribute up to 1; for PSP
and PSnDCG, up to the weight of its best labels. With both sums row by row, the metric of any resampling of
the rows takes two products (`bootstrap.py`). F1-macro and Coverage, means over labels, are no such sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from tailwright.evaluation.judged import Judged, judge
from tailwright.evaluation.metrics import RATIOS, add_up_blocks, checked_mask, ratio
from tailwright.evaluation.ranking import TopK
from tailwright.kernels import metrics as kernel
from tailwright.streams import stream

MEANS = ("P", "nDCG", "R")
WEIGHTED = tuple(RATIOS)

DRAWS = 2000
HELD_BYTES = 256 << 20  # row counts that are kept between comparisons; the rest is drawn again
BLOCK_VALUES = 1 << 21  # row counts that are multiplied at once


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
        achieved, best = RATIOS[name]
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


class Draws:
    """Draws of `rows` rows out of as many, with replacement, shared by all comparisons over the same rows.

    Draw d has its own stream, so a larger number of draws starts with the same ones.
    """

    def __init__(self, rows: int, draws: int = DRAWS, seed: int = 0) -> None:
        if rows < 1:
            raise ValueError(f"rows must be >= 1, got {rows}")
        if draws < 2:
            raise ValueError(f"draws must be >= 2, got {draws}")
        self.rows, self.draws, self.seed = rows, draws, seed
        self._held: np.ndarray | None = None  # (held draws, rows)

    def totals(self, columns: np.ndarray) -> np.ndarray:
        """(draws, columns): the sums of `columns` (rows, columns) over the rows of each draw."""
        if self._held is None:
            self._held = self._counts(0, min(self.draws, HELD_BYTES // self.rows))
        step = max(1, BLOCK_VALUES // self.rows)
        totals = np.empty((self.draws, columns.shape[1]))
        for start in range(0, self.draws, step):
            end = min(start + step, self.draws)
            held = self._held[start:end]
            counts = held if len(held) == end - start else self._counts(start, end)
            np.matmul(counts.astype(np.float64), columns, out=totals[start:end])
        return totals

    def _counts(self, start: int, end: int) -> np.ndarray:
        """(draws, rows): how often draws `start`..`end` have each row.

        A byte suffices: the probability that a row is drawn more than 255 times is one in 255 factorial.
        """
        counts = np.empty((end - start, self.rows), dtype=np.uint8)
        for draw in range(start, end):
            drawn = stream(self.seed, "bootstrap-rows", draw).integers(0, self.rows, self.rows)
            counts[draw - start] = np.bincount(drawn, minlength=self.rows)
        return counts

    @cached_property
    def normal(self) -> np.ndarray:
        """(draws,) standard normal: the deviation of the seeds in each draw."""
        return stream(self.seed, "bootstrap-seeds").standard_normal(self.draws)


@dataclass(frozen=True, eq=False)
class Drawn:
    """One ranking's metrics on all rows, and in every draw (NaN if none of a draw's rows counts).

    Of the rows, only what tells two rankings apart is kept, so that many rankings fit into memory.
    """

    metrics: tuple[str, ...]
    draws: Draws
    values: np.ndarray  # (metrics,) in percent
    drawn: np.ndarray  # (draws, metrics) in percent
    shares: np.ndarray  # (rows, metrics) float32: what a row adds to the metric, as a share of 1
    counted: np.ndarray  # (rows, metrics) bool: whether a row counts in the metric

    @staticmethod
    def of(parts: RowParts, draws: Draws) -> Drawn:
        """Measure `parts` in every draw."""
        if len(parts.achieved) != draws.rows:
            raise ValueError(f"parts have {len(parts.achieved)} rows, expected {draws.rows}")
        count = len(parts.metrics)
        totals = draws.totals(np.concatenate([parts.achieved, parts.possible], axis=1))
        achieved, possible = totals[:, :count], totals[:, count:]
        whole = parts.possible.sum(axis=0)
        return Drawn(
            parts.metrics,
            draws,
            ratio(parts.achieved.sum(axis=0), whole),
            np.where(possible > 0, ratio(achieved, possible), np.nan),
            np.divide(parts.achieved, np.where(whole > 0, whole, 1.0)).astype(np.float32),
            parts.possible > 0,
        )
