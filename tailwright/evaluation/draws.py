"""Draws of test rows with replacement, and the metrics of rankings in each, for the bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tailwright.evaluation.metrics import ratio
from tailwright.evaluation.row_parts import RowParts
from tailwright.streams import stream

DRAWS = 2000
HELD_BYTES = 256 << 20  # row counts that are kept between comparisons; the rest is drawn again
BLOCK_VALUES = 1 << 21  # row counts that are multiplied at once


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
