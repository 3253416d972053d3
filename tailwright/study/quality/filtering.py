"""What `filter` would make of the new rows: its figures as histograms, and rows to read that stay or go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailwright.augmentation import TrainedClassifier
from tailwright.augmentation.filter import BINS, Filter, FilterSettings, RowScores, scaled
from tailwright.data.corpus import Corpus
from tailwright.streams import stream
from tailwright.study.quality.examples import Example, described

BEST, BELOW, WORST = "best scores", "just below the cut", "worst scores"
SQUEEZED = 90.0  # percent of the rows in the lowest tenth of the diversities


@dataclass(frozen=True)
class Histogram:
    """Counts of rows in equal steps from 0 to `to`."""

    to: float
    kept: tuple[int, ...]
    dropped: tuple[int, ...]


@dataclass(frozen=True)
class ScoredExample:
    """A new row, the augmentation that made it, and what the filter finds of it."""

    example: Example
    method: str
    kept: bool
    diversity: float
    consistency: float
    score: float


@dataclass(frozen=True)
class Filtering:
    """What the filter keeps and drops of the new rows that are looked at; it scores them among all there are.

    `cut` is the lowest score that is kept, None if no row is judged by its score. `lowest_tenth` is how many
    percent of all scored rows have a diversity in the lowest tenth of its range; 0 if all have the same.
    """

    settings: FilterSettings
    classifier: str  # the name of its model
    scored: int  # new rows of all methods
    unscored: int  # those of weight 0, which are neither scored nor dropped
    rows: int  # scored rows that are looked at
    kept: int
    dropped: int
    cut: float | None
    lowest_tenth: float
    histograms: dict[str, Histogram]  # diversity, consistency, score
    examples: tuple[ScoredExample, ...]

    @property
    def squeezed(self) -> bool:
        """Whether few huge diversities leave the others no room, so that consistency decides alone."""
        return self.settings.scaling == "minmax" and self.lowest_tenth >= SQUEEZED


def filtering(
    corpus: Corpus,
    settings: FilterSettings,
    classifier: TrainedClassifier,
    name: str,
    looked_at: np.ndarray,
    *,
    count: int,
    seed: int = 0,
) -> Filtering:
    """The filter with these settings by a classifier called `name`; nothing of the corpus is dropped.

    All new rows are scored, as the filter does. `looked_at` are the places of those that histograms and
    examples are about; `count` examples are shown, `seed` decides among rows of the same score.
    """
    scored = Filter(settings).scores(corpus.train, classifier)
    by_score = settings.act == "cut" and len(scored.rows) > 0
    kept = scored.best(settings.keep) if by_score else np.ones(len(scored.rows), dtype=bool)
    shown = np.flatnonzero(np.isin(scored.rows, looked_at))
    made = int((~corpus.train.origin.is_original()).sum())
    return Filtering(
        settings=settings,
        classifier=name,
        scored=len(scored.rows),
        unscored=made - len(scored.rows),
        rows=len(shown),
        kept=int(kept[shown].sum()),
        dropped=int((~kept[shown]).sum()),
        cut=float(scored.scores[kept].min()) if by_score else None,
        lowest_tenth=_in_lowest_tenth(scored.diversity),
        histograms=_histograms(scored, kept, shown),
        examples=_examples(corpus, scored, kept, shown, classifier, count, seed),
    )


def _in_lowest_tenth(values: np.ndarray) -> float:
    if not len(values) or np.ptp(values) == 0:
        return 0.0
    return float(100 * (scaled(values) <= 0.1).mean())


def _histograms(scored: RowScores, kept: np.ndarray, shown: np.ndarray) -> dict[str, Histogram]:
    """Over the same steps as the filter's own, and over ten of the score."""
    ends = {name: found["to"] for name, found in scored.histograms().items()}
    figures = {"diversity": scored.diversity, "consistency": scored.consistency, "score": scored.scores}
    counted = {}
    for name, values in figures.items():
        to = ends.get(name, 1.0)
        stays, goes = (
            tuple(np.histogram(values[shown[side]], BINS, (0, to))[0].tolist())
            for side in (kept[shown], ~kept[shown])
        )
        counted[name] = Histogram(to, stays, goes)
    return counted


def _examples(
    corpus: Corpus,
    scored: RowScores,
    kept: np.ndarray,
    shown: np.ndarray,
    classifier: TrainedClassifier,
    count: int,
    seed: int,
) -> tuple[ScoredExample, ...]:
    kinds = _selected(scored.scores, kept, shown, count, seed)
    chosen = list(kinds)
    rows, origin = scored.rows[chosen], corpus.train.origin
    found = described(corpus, rows, scored.sources[chosen], list(kinds.values()), classifier.log_odds)
    return tuple(
        ScoredExample(
            example=example,
            method=origin.methods[origin.codes[scored.rows[i]]],
            kept=bool(kept[i]),
            diversity=float(scored.diversity[i]),
            consistency=float(scored.consistency[i]),
            score=float(scored.scores[i]),
        )
        for i, example in zip(chosen, found, strict=True)
    )


def _selected(
    scores: np.ndarray, kept: np.ndarray, shown: np.ndarray, count: int, seed: int
) -> dict[int, str]:
    """Which scored rows to show, each with the reason; none is taken twice.

    A third each are the dropped rows nearest to the cut and the rows with the lowest scores.
    """
    order = stream(seed, "filter-examples").permutation(shown)
    order = order[np.argsort(-scores[order], kind="stable")]  # best first
    third = count // 3
    kinds = dict.fromkeys(order[kept[order]][: count - 2 * third].tolist(), BEST)
    kinds |= dict.fromkeys(order[~kept[order]][:third].tolist(), BELOW)
    free = [i for i in order[::-1].tolist() if i not in kinds]
    return kinds | dict.fromkeys(free[:third], WORST)
