"""Paired bootstrap over test rows and seeds: whether a difference of metrics could be due to chance.

Test rows are resampled with replacement, and both sides of a comparison are measured on the same sample; with
several seeds, these are resampled too. A metric is a ratio of sums over rows (`RowParts`), so all samples
take two products of row counts with the rows' contributions: thousands of samples of many rankings take
seconds, and all comparisons over the same rows share one `Draws`.

* The interval is the 95 % percentile interval of the sampled differences.
* p comes from their standard error, two-sided, by the normal distribution, not from the share of samples
  beyond zero: that share cannot fall below one over the number of samples, which would disable `holm` over
  many comparisons.
* Three values cannot be resampled in many ways. So seeds are drawn from a normal distribution with their
  variance, less the variance of rows under each seed, which resampling rows already brings. As a few seeds
  say little about their variance, p and interval follow Student's t where it matters, with degrees of freedom
  after Welch and Satterthwaite. A single seed against several is assumed to vary as those do. Single seeds on
  both sides say nothing about it: their difference is that of two trained models, not of two methods.
* Two or three seeds are often too few to show even a large difference, more so after `holm`. Where all of
  them agree on the sign and rows alone would show it, the verdict is "too few seeds", and the interval for
  people is that of the rows: to call such sides equal would be wrong.
* The signs of m rows can be flipped in 2^m ways, so m rows that differ cannot show a difference at p below
  2^(1 - m). That is the smallest p; with fewer than six such rows, the interval reaches zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from tailwright.evaluation.row_parts import DRAWS, Drawn, Draws, RowParts

LEVEL = 0.05
EQUAL, TOO_FEW_SEEDS = "=", "too few seeds"
ONE_SEED = (
    "With one seed on both sides, an interval speaks of the rows only: of two trained models, not of methods."
)
_IN_WORDS = {EQUAL: "no clear difference", TOO_FEW_SEEDS: "not enough seeds to tell"}


@dataclass(frozen=True)
class Uncertainty:
    """How far chance may have moved a difference: 95 % interval and two-sided p."""

    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Difference:
    """By how many percentage points a metric differs: mean over seeds, 95 % interval, two-sided p.

    `rows` counts the rows that enter the metric, `seeds` the seeds on the side that has fewer. `rows_alone`
    is what rows say without regard to seeds; it is there if seeds count in interval and p and all agree on
    the sign.
    """

    metric: str
    mean: float
    low: float
    high: float
    p: float
    rows: int
    seeds: int
    rows_alone: Uncertainty | None = None

    @property
    def verdict(self) -> str:
        """ "better" or "worse" if p is below 0.05, "=" if chance may explain the difference.

        "too few seeds" if it may do so only because other seeds might differ: rows alone show a difference.
        """
        if self.p < LEVEL:
            return "better" if self.mean > 0 else "worse"
        shown_by_rows = self.rows_alone is not None and self.rows_alone.p < LEVEL
        return TOO_FEW_SEEDS if shown_by_rows else EQUAL

    @property
    def in_words(self) -> str:
        """The verdict in words."""
        return _IN_WORDS.get(self.verdict, self.verdict)

    @property
    def interval(self) -> str:
        """The interval for people; with too few seeds, that of the rows, which it says."""
        if self.rows_alone is not None and self.verdict == TOO_FEW_SEEDS:
            return f"{self.rows_alone.low:+.2f} to {self.rows_alone.high:+.2f}, rows only"
        return f"{self.low:+.2f} to {self.high:+.2f}"

    def cells(self) -> list[str]:
        """For a table: points, 95 % interval, rows, verdict."""
        return [f"{self.mean:+.2f}", self.interval, f"{self.rows:,}", self.in_words]


@dataclass(frozen=True, eq=False)
class Term:
    """A term of a contrast: `factor` times the mean of one metric over `seeds`."""

    factor: float
    seeds: Sequence[Drawn]
    metric: str

    @property
    def column(self) -> int:
        return self.seeds[0].metrics.index(self.metric)

    def values(self) -> np.ndarray:
        """(seeds,)"""
        return self.factor * np.array([seed.values[self.column] for seed in self.seeds])

    def drawn(self) -> np.ndarray:
        """(draws, seeds)"""
        return self.factor * np.stack([seed.drawn[:, self.column] for seed in self.seeds], axis=1)

    def shares(self) -> np.ndarray:
        """(rows,): what each row adds to the term, averaged over seeds."""
        return np.asarray(self.factor * np.mean([seed.shares[:, self.column] for seed in self.seeds], axis=0))

    def counted(self) -> np.ndarray:
        """(rows,) bool: whether a row counts in the metric."""
        return np.any([seed.counted[:, self.column] for seed in self.seeds], axis=0)


@dataclass(frozen=True, eq=False)
class _Trainings:
    """What varies by training and is resampled together: a contrast of paired seeds, or one term."""

    values: np.ndarray  # (seeds,)
    drawn: np.ndarray  # (draws, seeds): with rows resampled

    @property
    def seeds(self) -> int:
        return len(self.values)

    def variance(self) -> float:
        """The variance between trainings, less that of rows; zero for one training.

        The values of seeds vary by the seeds themselves and by the rows under each seed. Resampling rows
        already shows the latter, so it is subtracted.
        """
        if self.seeds == 1:
            return 0.0
        apart = self.drawn - self.drawn.mean(axis=1, keepdims=True)
        of_rows = float(np.nanvar(apart, axis=0, ddof=1).sum()) / (self.seeds - 1)
        return max(0.0, float(self.values.var(ddof=1)) - of_rows)


def contrast(metric: str, terms: Sequence[Term]) -> Difference | None:
    """A sum of terms over the same draws, such as a gain or the difference of two gains; `metric` names it.

    Seeds are paired by position if all terms have equally many. None if a term has no row that counts.
    """
    counted = [term.counted() for term in terms]
    if not all(rows.any() for rows in counted):
        return None
    draws = terms[0].seeds[0].draws
    numbers = [len(term.seeds) for term in terms]
    sides = [_Trainings(term.values(), term.drawn()) for term in terms]
    if len(set(numbers)) == 1:
        columns = zip(*((side.values, side.drawn) for side in sides), strict=True)
        sides = [_Trainings(*(np.sum(arrays, axis=0) for arrays in columns))]
    mean = float(sum(side.values.mean() for side in sides))
    drawn = np.sum([side.drawn.mean(axis=1) for side in sides], axis=0)
    drawn = drawn[~np.isnan(drawn)]
    between, uncertain = _between_seeds(terms, sides)
    least_p = min(1.0, 2.0 ** (1 - _differing([term.shares() for term in terms])))
    shown = _uncertainty(drawn + math.sqrt(between) * draws.normal[: len(drawn)], mean, uncertain, least_p)
    # The contrast of the worst seeds, and that of the best: of one sign if every pairing of seeds has it.
    ends = [sum(float(end(side.values)) for side in sides) for end in (np.min, np.max)]
    agreeing = uncertain > 0 and ends[0] * ends[1] > 0
    rows_alone = _uncertainty(drawn, mean, 0.0, least_p) if agreeing else None
    rows = int(np.any(counted, axis=0).sum())
    return Difference(metric, mean, shown.low, shown.high, shown.p, rows, min(numbers), rows_alone)


def difference(before: Sequence[Drawn], after: Sequence[Drawn], metric: str) -> Difference | None:
    """By how much `after` is ahead of `before`, with one `Drawn` per seed on each side."""
    return contrast(metric, [Term(1.0, after, metric), Term(-1.0, before, metric)])


def paired_bootstrap(
    before: Sequence[RowParts], after: Sequence[RowParts], draws: int = DRAWS, seed: int = 0
) -> dict[str, Difference]:
    """The difference in each metric, with one `RowParts` per seed on each side.

    A metric in which no row counts is left out.

    >>> was = RowParts(("P@1",), np.array([[0.0]] * 60 + [[1.0]] * 40), np.ones((100, 1)))
    >>> now = RowParts(("P@1",), np.array([[0.0]] * 40 + [[1.0]] * 60), np.ones((100, 1)))
    >>> gain = paired_bootstrap([was], [now])["P@1"]
    >>> gain.mean, gain.verdict, gain.rows
    (20.0, 'better', 100)
    """
    if not before or not after:
        raise ValueError(f"found {len(before)} and {len(after)} seeds, expected at least one on each side")
    shared = Draws(len(before[0].achieved), draws, seed)
    was, now = ([Drawn.of(parts, shared) for parts in side] for side in (before, after))
    gains = {metric: difference(was, now, metric) for metric in before[0].metrics}
    return {metric: gain for metric, gain in gains.items() if gain is not None}


def holm(ps: Sequence[float]) -> list[float]:
    """The p values adjusted for multiple comparisons, after Holm.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, least = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        least = max(least, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = least
    return adjusted


def holm_adjusted(differences: Sequence[Difference]) -> list[Difference]:
    """The same differences with p, and so the verdict, adjusted for multiple comparisons."""
    alone = [one.rows_alone for one in differences]
    adjusted = holm([one.p for one in differences])
    of_rows = holm([one.p if rows is None else rows.p for one, rows in zip(differences, alone, strict=True)])
    return [
        replace(one, p=p, rows_alone=None if rows is None else replace(rows, p=p_of_rows))
        for one, p, rows, p_of_rows in zip(differences, adjusted, alone, of_rows, strict=True)
    ]


def _between_seeds(terms: Sequence[Term], sides: Sequence[_Trainings]) -> tuple[float, float]:
    """The variance of a contrast that comes from its seeds, and its uncertainty: half its own variance.

    A side of one seed is assumed to vary as the sides of several do. The uncertainty comes from the product
    of the variance with and without that of rows: by the former alone, seeds that do not vary would cost many
    degrees of freedom; by the latter alone, seeds that happen to lie close would promise too much.
    """
    factors = [term.factor for term in terms] if len(sides) > 1 else [1.0]
    pairs = list(zip(factors, sides, strict=True))
    several = [(factor, side) for factor, side in pairs if side.seeds > 1]
    if not several:
        return 0.0, 0.0
    usual = float(np.mean([side.variance() / factor**2 for factor, side in several]))
    spread = float(np.mean([side.values.var(ddof=1) / factor**2 for factor, side in several]))
    between = uncertain = 0.0
    for factor, side in pairs:
        alone = side.seeds == 1
        freedom = sum(other.seeds - 1 for _, other in several) if alone else side.seeds - 1
        variance = factor**2 * usual if alone else side.variance() / side.seeds
        measured = factor**2 * spread if alone else float(side.values.var(ddof=1)) / side.seeds
        between += variance
        uncertain += variance * measured / freedom
    return between, uncertain


def _uncertainty(drawn: np.ndarray, mean: float, uncertain: float, least_p: float) -> Uncertainty:
    """Interval and p of a mean from its draws; where no p below `least_p` can be, zero is inside."""
    variance = float(drawn.var(ddof=1)) if len(drawn) > 1 else 0.0
    freedom = max(1.0, variance**2 / uncertain) if uncertain > 0 else math.inf
    low, high = _interval(drawn, mean, freedom)
    if least_p >= LEVEL:
        low, high = min(low, 0.0), max(high, 0.0)
    return Uncertainty(low, high, max(_two_sided(mean, variance, freedom), least_p))


def _two_sided(mean: float, variance: float, freedom: float) -> float:
    if variance <= 0:
        return 1.0 if mean == 0 else 0.0
    beyond = -abs(mean) / math.sqrt(variance)
    return 2.0 * float(special.ndtr(beyond) if math.isinf(freedom) else special.stdtr(freedom, beyond))


def _interval(drawn: np.ndarray, mean: float, freedom: float) -> tuple[float, float]:
    """The percentiles, widened as Student's t is wider than the normal distribution."""
    if not len(drawn):
        return mean, mean
    inside = 1 - LEVEL / 2
    wider = 1.0 if math.isinf(freedom) else float(special.stdtrit(freedom, inside) / special.ndtri(inside))
    low, high = np.quantile(drawn, [1 - inside, inside])
    return mean + wider * (float(low) - mean), mean + wider * (float(high) - mean)


def _differing(shares: Sequence[np.ndarray]) -> int:
    """How many rows contribute differently to the two sides, apart from rounding."""
    largest = max(float(np.abs(share).max(initial=0.0)) for share in shares)
    return int((np.abs(np.sum(shares, axis=0)) > 1e-6 * largest).sum())
