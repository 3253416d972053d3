"""Two rankings of the same rows side by side: by how much recall differs, and which rows show it.

Means of a slice are over the rows that carry a label of it, as in `sliced_metrics`. The interval of a
difference is that of the rows at hand: it says what other test rows might give, not what another seed would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tailwright.evaluation.judged import judge
from tailwright.evaluation.ranking import TopK
from tailwright.streams import stream

WIDTH_OF_95_PERCENT = 1.96  # standard errors to each side, where many rows are averaged


@dataclass(frozen=True)
class Gain:
    """A mean difference over `rows`, in points of percent, with the ends of its 95 % interval."""

    mean: float
    low: float
    high: float
    rows: int

    @property
    def verdict(self) -> str:
        """In a word: "better", "worse", or "no clear difference" where zero is inside the interval."""
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else "no clear difference"


def recall_gain(
    before: np.ndarray | TopK,
    after: np.ndarray | TopK,
    truth: sparse.sparray,
    mask: np.ndarray,
    k: int,
    excluded: sparse.sparray | None = None,
) -> Gain | None:
    """The gain in R@k on the labels in `mask` (labels,); None if no row carries one of them.

    >>> truth = sparse.csr_array(np.array([[1, 0], [0, 1], [1, 0]]))
    >>> before, after = np.array([[1], [1], [1]]), np.array([[0], [1], [0]])
    >>> gain = recall_gain(before, after, truth, np.array([True, False]), k=1)
    >>> gain.mean, gain.rows
    (100.0, 2)
    """
    was, mass = found_of_rows(before, truth, mask, k, excluded)
    now, _ = found_of_rows(after, truth, mask, k, excluded)
    counted = mass > 0
    rows = int(counted.sum())
    if not rows:
        return None
    difference = 100.0 * (now[counted] - was[counted]) / mass[counted]
    # One row has no spread to be measured, so its interval is all that a recall can do.
    spread = float(difference.std(ddof=1)) / np.sqrt(rows) if rows > 1 else 100.0
    mean, reach = float(difference.mean()), WIDTH_OF_95_PERCENT * spread
    return Gain(mean, mean - reach, mean + reach, rows)


@dataclass(frozen=True, eq=False)
class TellingRows:
    """Rows that show a difference: `rows` of them, drawn out of `better` and `worse` in their proportion."""

    rows: np.ndarray  # (shown,) int64, the better ones first
    gained: np.ndarray  # (shown,) float64: right labels more (or fewer) than before
    better: int
    worse: int


def telling_rows(
    before: np.ndarray | TopK,
    after: np.ndarray | TopK,
    truth: sparse.sparray,
    mask: np.ndarray,
    k: int,
    *,
    count: int = 5,
    seed: int = 0,
    excluded: sparse.sparray | None = None,
) -> TellingRows:
    """Rows whose number of right labels of `mask` among the first k differs, drawn by chance.

    So many of them are better and worse as among all such rows, and at least one of each if there are any:
    a choice of the best cases would tell a fairy tale.
    """
    was, _ = found_of_rows(before, truth, mask, k, excluded)
    now, _ = found_of_rows(after, truth, mask, k, excluded)
    gained = now - was
    better, worse = np.flatnonzero(gained > 0), np.flatnonzero(gained < 0)
    shown_better, shown_worse = shares(len(better), len(worse), count)
    draw = stream(seed, "telling-rows")
    rows = np.concatenate(
        [
            np.sort(draw.choice(better, shown_better, replace=False)),
            np.sort(draw.choice(worse, shown_worse, replace=False)),
        ]
    ).astype(np.int64)
    return TellingRows(rows, gained[rows], len(better), len(worse))


def shares(one: int, other: int, count: int) -> tuple[int, int]:
    """`count` places for two groups in proportion to their sizes; a group that is there gets a place.

    >>> shares(70, 30, 5), shares(999, 1, 5), shares(2, 0, 5), shares(0, 0, 5)
    ((4, 1), (4, 1), (2, 0), (0, 0))
    """
    count = min(count, one + other)
    if count == 0:
        return 0, 0
    first = round(count * one / (one + other))
    if count > 1 and one and other:
        first = min(max(first, 1), count - 1)
    first = max(min(first, one), count - other)
    return first, count - first


def found_of_rows(
    top_ids: np.ndarray | TopK,
    truth: sparse.sparray,
    mask: np.ndarray,
    k: int,
    excluded: sparse.sparray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """For each row (rows,): how much of its truth in `mask` is among the first k, and how much there is."""
    judged = judge(top_ids, truth, None, (k,), excluded)
    kept = judged.truth.copy()
    kept.data = np.where(mask[kept.indices], kept.data, 0.0)
    said = np.nonzero(judged.cut >= 0)
    first = sparse.csr_array((np.ones(len(said[0])), (said[0], judged.cut[said])), shape=kept.shape)
    return kept.multiply(first).sum(axis=1), kept.sum(axis=1)
