"""Outcomes side by side: means over seeds, gains over the baseline, the best of each column, with verdicts.

A table is a dataset and a training fraction; its entries are systems with augmentations. Holm's correction is
applied inside a table, over each family of differences that is read together: all gains over baselines in all
metrics; the same by slice; and the best of each column against all others.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tailwright.errors import InputError
from tailwright.evaluation.bootstrap import EQUAL, TOO_FEW_SEEDS, Difference, difference, holm_adjusted
from tailwright.evaluation.row_parts import DRAWS, WEIGHTED, Drawn, Draws, row_parts
from tailwright.labels import PROPENSITY_PRESETS, head_torso_tail
from tailwright.study.plan.cells import BASELINE
from tailwright.study.run.exam import Exam
from tailwright.study.run.outcomes import Outcome

ALL = "all"
SLICES = ("head", "torso", "tail", "unseen")
METRICS = ("P@1", "P@5", "PSP@5", "R@10")
FREQUENCIES = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_FEWEST_FOR_PROPENSITIES = 3

Line: TypeAlias = tuple[str, str]  # system and augmentation: a row of a table


@dataclass(frozen=True, eq=False)
class Entry:
    """A system with an augmentation in one table; figures are by slice ("all" is one) and metric.

    The baseline is the same system without augmentation, or one system that all are compared with.
    """

    system: str
    augmentation: str
    outcomes: tuple[Outcome, ...]  # by seed
    mean: Mapping[str, Mapping[str, float]]
    spread: Mapping[str, Mapping[str, float | None]]  # standard deviation over seeds; None for one seed
    gain: Mapping[str, Mapping[str, Difference]]  # over the baseline; empty for the baseline itself


@dataclass(frozen=True)
class Best:
    """The best of a column: its entry's place, the entries within noise of it, and the second.

    `untold` are the entries for which there are too few seeds to tell.
    """

    place: int
    level_with: tuple[int, ...]
    second: int | None
    untold: tuple[int, ...] = ()

    @property
    def is_clear(self) -> bool:
        """Whether it is better than every other beyond noise."""
        return not self.level_with and not self.untold

    def mark(self, place: int) -> str:
        """The mark of an entry where none is clearly the best: "=", "?" for too few seeds, or nothing."""
        if self.is_clear:
            return ""
        if place in self.level_with or (place == self.place and self.level_with):
            return "="
        return "?" if place == self.place or place in self.untold else ""


@dataclass(frozen=True, eq=False)
class Comparison:
    """One table: all systems and augmentations on one dataset with one share of its training rows.

    `against` is the system that all are compared with; empty: each with itself without augmentation.
    """

    dataset: str
    fraction: float
    n_train: int
    test_rows: int
    draws: int
    metrics: tuple[str, ...]
    entries: tuple[Entry, ...]
    best: Mapping[str, Best]  # by metric
    against: str = ""

    @property
    def baseline(self) -> str:
        """What entries are compared with, in words."""
        return f"{self.against or 'the same model'} without augmentation"


class Judge:
    """Measures the outcomes of one dataset, all on the same draws of its test rows."""

    def __init__(self, exam: Exam, draws: int = DRAWS, seed: int = 0) -> None:
        self.exam = exam
        self.draws = Draws(len(exam.test), draws, seed)

    def drawn(
        self,
        outcome: Outcome,
        metrics: Sequence[str],
        mask: np.ndarray | None = None,
        weighed_as: Outcome | None = None,
    ) -> Drawn:
        """Some metrics of an outcome in every draw, on the labels in `mask` or on all.

        Propensities come from the rows that the outcome was trained on, or from those of `weighed_as`.
        """
        test = self.exam.test
        if outcome.top.shape[0] != len(test) or len(outcome.counts) != test.labels:
            size = f"{outcome.cell.title}: {outcome.top.shape[0]:,} rows over {len(outcome.counts):,} labels"
            raise InputError(size, expected=f"{len(test):,} over {test.labels:,}, as {self.exam.name} has")
        weights = None
        if any(_is_weighted(metric) for metric in metrics):
            seen = weighed_as or outcome
            weights = PROPENSITY_PRESETS["default"].inverse(seen.counts, seen.n_train)
        parts = row_parts(outcome.top, test.targets, weights, metrics, test.excluded, mask)
        return Drawn.of(parts, self.draws)


def compare_all(
    outcomes: Iterable[Outcome],
    exams: Mapping[str, Exam],
    metrics: Sequence[str] = METRICS,
    draws: int = DRAWS,
    order: Sequence[Line] = (),
    against: str = "",
) -> list[Comparison]:
    """Every table of these outcomes, by dataset and fraction.

    `exams` are by dataset. Lines come in the order of `order`, others after them by name, and a system's
    baseline before its augmentations. `against` names a system; see `Comparison`.
    """
    tables: dict[tuple[str, float, int], list[Outcome]] = {}
    for outcome in outcomes:
        table = (outcome.cell.dataset, outcome.cell.fraction, outcome.n_train)
        tables.setdefault(table, []).append(outcome)
    judges = {dataset: Judge(exams[dataset], draws) for dataset, *_ in tables}
    return [
        _table(judges[table[0]], _lines(tables[table], order), fit_for(metrics, table[2]), against)
        for table in sorted(tables)
    ]


def gain_by_frequency(
    before: Sequence[Outcome],
    after: Sequence[Outcome],
    exam: Exam,
    metric: str = "R@10",
    edges: Sequence[int] = FREQUENCIES,
    draws: int = DRAWS,
) -> list[tuple[str, Difference]]:
    """What `after` gains over `before` on labels with few and with many training rows, one outcome a seed.

    `edges` are the fewest training rows of each bucket; buckets without a test row are left out. Each
    interval is that of its bucket alone.
    """
    judge = Judge(exam, draws)
    gains = []
    for name, mask in frequency_buckets(before[0].counts, edges).items():
        was, now = ([judge.drawn(outcome, [metric], mask) for outcome in side] for side in (before, after))
        gain = difference(was, now, metric)
        if gain is not None:
            gains.append((name, gain))
    return gains


def frequency_buckets(counts: np.ndarray, edges: Sequence[int] = FREQUENCIES) -> dict[str, np.ndarray]:
    """A mask over labels for each bucket of training rows.

    >>> [name for name in frequency_buckets(np.array([0, 7]), (0, 1, 2, 4))]
    ['0', '1', '2-3', '4 and more']
    """
    if not len(edges) or list(edges) != sorted(set(edges)):
        raise ValueError(f"edges must ascend, got {list(edges)}")
    buckets = {}
    for fewest, above in zip(edges, [*edges[1:], None], strict=True):
        if above is None:
            buckets[f"{fewest} and more"] = counts >= fewest
        else:
            name = str(fewest) if above == fewest + 1 else f"{fewest}-{above - 1}"
            buckets[name] = (counts >= fewest) & (counts < above)
    return buckets


def _lines(members: Sequence[Outcome], order: Sequence[Line]) -> dict[Line, tuple[Outcome, ...]]:
    """The outcomes of each line by seed, lines in the order of the table's rows."""
    lines: dict[Line, dict[int, Outcome]] = {}
    for outcome in sorted(members, key=lambda outcome: (outcome.cell.seed, outcome.key)):
        cell = outcome.cell
        seeds = lines.setdefault((cell.system, cell.augmentation), {})
        if cell.seed in seeds and seeds[cell.seed].key != outcome.key:
            raise InputError(f"found two cells called {cell.title}", expected="one name for one cell")
        seeds[cell.seed] = outcome
    return {line: tuple(lines[line].values()) for line in in_order(lines, order)}


def in_order(lines: Iterable[Line], order: Sequence[Line]) -> list[Line]:
    """Lines in the order of `order`, by system, each system's baseline first."""
    systems = list(dict.fromkeys(system for system, _ in order))
    places = {line: place for place, line in enumerate(order)}

    def key(line: Line) -> tuple[int, str, bool, int, str]:
        system, augmentation = line
        rank = systems.index(system) if system in systems else len(systems)
        return rank, system, augmentation != BASELINE, places.get(line, len(places)), augmentation

    return sorted(lines, key=key)


def _table(
    judge: Judge, lines: Mapping[Line, tuple[Outcome, ...]], metrics: tuple[str, ...], against: str
) -> Comparison:
    first = next(iter(lines.values()))[0]
    means: dict[Line, dict[str, dict[str, float]]] = {line: {} for line in lines}
    spreads: dict[Line, dict[str, dict[str, float | None]]] = {line: {} for line in lines}
    gains: dict[tuple[Line, str, str], Difference] = {}
    best: dict[str, Best] = {}
    for name, mask in {ALL: None, **head_torso_tail(first.counts)}.items():
        # One slice after the other, so that the rows of one slice alone are in memory.
        drawn = {
            line: [judge.drawn(outcome, metrics, mask) for outcome in seeds] for line, seeds in lines.items()
        }
        for line, seeds in drawn.items():
            if not seeds[0].counted.any():
                continue
            metrics_of = [outcome.metrics for outcome in lines[line]]
            measured = metrics_of if name == ALL else [of_seed["slices"][name] for of_seed in metrics_of]
            by_metric = {metric: [float(of_seed[metric]) for of_seed in measured] for metric in metrics}
            means[line][name] = {metric: statistics.fmean(values) for metric, values in by_metric.items()}
            spreads[line][name] = {
                metric: statistics.stdev(values) if len(values) > 1 else None
                for metric, values in by_metric.items()
            }
            base = (against or line[0], BASELINE)
            if line != base and base in drawn:
                for metric in metrics:
                    gain = difference(drawn[base], seeds, metric)
                    if gain is not None:
                        gains[line, name, metric] = gain
        if name == ALL:
            best = _best(drawn, {line: by_slice[ALL] for line, by_slice in means.items()}, metrics)
    adjusted = _adjusted(gains)
    entries = tuple(
        Entry(*line, seeds, means[line], spreads[line], adjusted.get(line, {}))
        for line, seeds in lines.items()
    )
    table = (first.cell.dataset, first.cell.fraction, first.n_train)
    return Comparison(*table, judge.draws.rows, judge.draws.draws, metrics, entries, best, against)


def _adjusted(
    gains: Mapping[tuple[Line, str, str], Difference],
) -> dict[Line, dict[str, dict[str, Difference]]]:
    """Holm over all labels, and over the slices together; by line, slice and metric."""
    adjusted: dict[Line, dict[str, dict[str, Difference]]] = {}
    for whole in (True, False):
        family = {place: gain for place, gain in gains.items() if (place[1] == ALL) == whole}
        for (line, name, metric), gain in zip(family, holm_adjusted(list(family.values())), strict=True):
            adjusted.setdefault(line, {}).setdefault(name, {})[metric] = gain
    return adjusted


def _best(
    drawn: Mapping[Line, Sequence[Drawn]], means: Mapping[Line, Mapping[str, float]], metrics: Sequence[str]
) -> dict[str, Best]:
    """The best entry of each metric, compared with every other; Holm over all of these differences."""
    lines = list(drawn.values())
    values = {metric: [means[line][metric] for line in drawn] for metric in metrics}
    # Of equal means the earlier entry ranks first.
    ranks = {metric: sorted(range(len(lines)), key=lambda i: -of[i]) for metric, of in values.items()}
    places, family = [], []
    for metric, (first, *others) in ranks.items():
        for other in others:
            ahead = difference(lines[other], lines[first], metric)
            if ahead is not None:
                places.append((metric, other))
                family.append(ahead)
    verdicts = {place: ahead.verdict for place, ahead in zip(places, holm_adjusted(family), strict=True)}

    def with_verdict(metric: str, others: Sequence[int], verdict: str) -> tuple[int, ...]:
        return tuple(other for other in sorted(others) if verdicts.get((metric, other)) == verdict)

    return {
        metric: Best(
            first,
            with_verdict(metric, others, EQUAL),
            others[0] if others else None,
            with_verdict(metric, others, TOO_FEW_SEEDS),
        )
        for metric, (first, *others) in ranks.items()
    }


def fit_for(metrics: Sequence[str], n_train: int) -> tuple[str, ...]:
    """The metrics; where there are too few rows for propensities, without those that weigh labels."""
    return tuple(m for m in metrics if n_train >= _FEWEST_FOR_PROPENSITIES or not _is_weighted(m))


def _is_weighted(metric: str) -> bool:
    return metric.partition("@")[0] in WEIGHTED
