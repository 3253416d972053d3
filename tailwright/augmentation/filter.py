"""Filter: of the rows that methods before it made, those stay that a trained classifier finds good.

Follows the filter of the XDA paper as its formulas intend it: diversity and consistency (`shared/agreement`),
each scaled to [0, 1] over all made rows, are added, and the best fifth is kept. The classifier is trained on
original rows alone. The true number of labels of a row is its k, where the authors' code stops at ten.

Diversity rewards a prediction that is far from the labels, consistency punishes one that has left them. One
huge diversity squeezes all others together, so that consistency decides alone: look at the histograms in the
log, and at the scalings `rank` and `percentile`, which are ours.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from tailwright.augmentation import (
    AugmenterCard,
    RowRefiner,
    ScorerSettings,
    TrainedClassifier,
    augmenters,
)
from tailwright.augmentation.shared.agreement import agreement, softmax_kl, summed_bce
from tailwright.augmentation.shared.sources import source_places
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.settings import Settings, setting
from tailwright.training.workplace import Workplace

log = logging.getLogger(__name__)

Scaling = Literal["minmax", "rank", "percentile"]
DIVERSITIES = {"bce": summed_bce, "kl_softmax": softmax_kl}
BINS = 10


@dataclass(frozen=True)
class FilterSettings(Settings):
    """Which made rows are good, and what becomes of the others."""

    keep: float = setting(
        0.2, "share of the made rows that is kept, those with the best scores", above=0, most=1
    )
    act: Literal["cut", "weight"] = setting(
        "cut", "cut: drop the other rows; weight: keep all, each row's weight times its score in [0, 1]"
    )
    diversity: Literal["bce", "kl_softmax"] = setting(
        "bce", "bce: cross-entropy summed over labels; kl_softmax: divergence of the softmax from the labels"
    )
    scaling: Scaling = setting(
        "minmax", "how both figures come to [0, 1]; rank: by rank; percentile: minmax of the 1st to the 99th"
    )
    depth: int | None = setting(
        None, "labels asked for of a text, all others having a probability of about 0; none: all", least=1
    )
    scorer: ScorerSettings = setting(ScorerSettings(), "the classifier that is asked")


@dataclass(frozen=True, eq=False)
class RowScores:
    """What the filter finds of each made row, in the order of the training rows."""

    rows: np.ndarray  # (made,) int64: places in the training rows
    sources: np.ndarray  # (made,) int64: those of their sources, -1 for none
    diversity: np.ndarray  # (made,) float64, >= 0
    consistency: np.ndarray  # (made,) float64 in [0, 1]
    scores: np.ndarray  # (made,) float64 in [0, 1]: the mean of both after scaling

    def best(self, keep: float) -> np.ndarray:
        """(made,) bool: the rows whose score reaches the percentile above which the share `keep` lies.

        All rows that have just that score are kept, so that the order of rows does not matter.
        """
        if not len(self.scores):
            return np.zeros(0, dtype=bool)
        place = math.ceil((1 - Fraction(str(keep))) * (len(self.scores) - 1))
        best: np.ndarray = self.scores >= np.sort(self.scores)[place]
        return best

    def histograms(self) -> dict[str, dict[str, Any]]:
        """Diversity and consistency as counts of rows in equal steps, from 0 to the most that `to` says."""
        most = {"diversity": float(self.diversity.max(initial=0)) or 1.0, "consistency": 1.0}
        return {
            name: {"to": end, "rows": np.histogram(getattr(self, name), BINS, (0, end))[0].tolist()}
            for name, end in most.items()
        }


@augmenters.register
class Filter(RowRefiner):
    """Made rows of weight 0 are neither scored nor dropped."""

    card = AugmenterCard(
        name="filter",
        summary="keeps the made rows that a trained classifier finds diverse and true to their labels",
        door="rows",
        keeps_targets=True,
        paper="Taming Prompt-Based Data Augmentation for Long-Tailed Extreme Multi-Label Text Classification",
    )
    Settings = FilterSettings
    probes = ()

    @property
    def scorer(self) -> ScorerSettings:
        scorer: ScorerSettings = self.settings.scorer
        return scorer

    def refined(
        self,
        corpus: Corpus,
        *,
        classifier: TrainedClassifier | None = None,
        work: Workplace | None = None,
    ) -> Corpus:
        if classifier is None:
            raise ValueError("classifier must be given; tailwright.augment trains or loads one")
        scored = self.scores(corpus.train, classifier)
        refined, histograms = self.acted(corpus, scored), scored.histograms()
        dropped = len(corpus.train) - len(refined.train)
        log.info("filter: %d of %d made rows are dropped; %s", dropped, len(scored.rows), histograms)
        (work or Workplace()).log("filter", made=len(scored.rows), dropped=dropped, **histograms)
        return refined

    def acted(self, corpus: Corpus, scored: RowScores) -> Corpus:
        """The corpus whose made rows are dropped or weighed by their scores."""
        s: FilterSettings = self.settings
        train = corpus.train
        if s.act == "weight":
            weights = train.weights.copy()
            weights[scored.rows] *= scored.scores.astype(np.float32)
            return corpus.with_train(replace(train, weights=weights))
        stays = np.ones(len(train), dtype=bool)
        stays[scored.rows] = scored.best(s.keep)
        return corpus.with_train(train.take(np.flatnonzero(stays)))

    def scores(self, train: Dataset, classifier: TrainedClassifier) -> RowScores:
        """What the classifier finds of every made row of a weight above 0."""
        s: FilterSettings = self.settings
        rows = np.flatnonzero(~train.origin.is_original() & (train.weights > 0))
        sources = source_places(train, rows)
        figures = agreement(train, rows, sources, classifier, DIVERSITIES[s.diversity], s.depth)
        diverse, consistent = (scaled(values, s.scaling) for values in figures)
        return RowScores(rows, sources, *figures, (diverse + consistent) / 2)


def scaled(values: np.ndarray, scaling: Scaling = "minmax") -> np.ndarray:
    """The values brought to [0, 1]; 0 for all if they do not differ.

    >>> scaled(np.array([1.0, 3.0, 2.0, 9.0])).tolist()
    [0.0, 0.25, 0.125, 1.0]
    >>> scaled(np.array([1.0, 3.0, 3.0, 9.0]), "rank").tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    if not len(values):
        return values
    if scaling == "rank":
        _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
        values = (np.cumsum(counts) - (counts - 1) / 2)[place]  # equal values share their mean rank
    elif scaling == "percentile":
        values = np.clip(values, *np.percentile(values, (1, 99)))
    width = np.ptp(values)
    return (values - values.min()) / width if width > 0 else np.zeros(len(values))
