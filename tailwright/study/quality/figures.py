"""`quality_of`: how good are the rows that augmentations have added to a corpus?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailwright.augmentation.filter import FilterSettings
from tailwright.data.corpus import Corpus
from tailwright.runs.evaluation import refuse_other_labels
from tailwright.runs.run import Run
from tailwright.runs.scoring import scorer_for
from tailwright.study.quality.drift import Drift, drift
from tailwright.study.quality.examples import Example, examples
from tailwright.study.quality.filtering import Filtering, filtering
from tailwright.study.quality.sources import Pairing, pairings
from tailwright.study.quality.texts import PairFigures, TextFigures, equal_to_training, measure

EXAMPLES = 9


@dataclass(frozen=True)
class MethodQuality:
    """The new rows of one method; shares are in percent. `sources` and `pairs` are None without sources."""

    method: str
    rows: int
    share: float  # of all training rows
    without_source: int  # new rows whose source is not among the training rows
    new: TextFigures
    sources: TextFigures | None
    pairs: PairFigures | None
    equal_to_training: float  # new rows with the text of an original training row
    equal_to_new: float  # new rows with the text of an earlier new row
    drift: Drift | None  # None without a model or without pairs
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Quality:
    """The quality of the new rows of a corpus, a method at a time, by name."""

    original_rows: int
    training_rows: int
    seed: int
    methods: tuple[MethodQuality, ...]
    filtering: Filtering | None  # None if it is not asked for


def quality_of(
    corpus: Corpus,
    run: Run | None = None,
    method: str | None = None,
    seed: int = 0,
    *,
    count: int = EXAMPLES,
    filter_settings: FilterSettings | None = None,
) -> Quality:
    """The quality of the rows that augmentations added to `corpus.train`, of `method` alone if it is given.

    `run` is a trained model over the same labels, which shows whether labels drift; `seed` draws samples and
    examples, `count` of these for each method. With `filter_settings` it says what such a filter would keep
    and drop. A corpus without new rows is an InputError.
    """
    if count < 0:
        raise ValueError(f"count must be >= 0, got {count}")
    pairings_by_method = pairings(corpus, method)
    if run is not None:
        refuse_other_labels(corpus, run)
    filtered = None
    if filter_settings is not None:
        scorer = scorer_for(filter_settings.scorer, corpus, seed=seed)
        rows = np.concatenate([pairing.rows for pairing in pairings_by_method])
        name = scorer.model.card.name
        filtered = filtering(corpus, filter_settings, scorer, name, rows, count=count, seed=seed)
    return Quality(
        original_rows=int(corpus.train.origin.is_original().sum()),
        training_rows=len(corpus.train),
        seed=seed,
        methods=tuple(_quality(corpus, pairing, run, seed, count) for pairing in pairings_by_method),
        filtering=filtered,
    )


def _quality(corpus: Corpus, pairing: Pairing, run: Run | None, seed: int, count: int) -> MethodQuality:
    measured = measure(corpus.train, pairing, seed)
    in_training, in_new = equal_to_training(corpus.train, pairing)
    return MethodQuality(
        method=pairing.method,
        rows=len(pairing.rows),
        share=100 * len(pairing.rows) / len(corpus.train),
        without_source=int((pairing.sources < 0).sum()),
        new=measured.new,
        sources=measured.sources,
        pairs=measured.pairs,
        equal_to_training=in_training,
        equal_to_new=in_new,
        drift=None if run is None else drift(corpus, pairing, run, seed),
        examples=examples(corpus, pairing, measured.ratios, count, run, seed),
    )
