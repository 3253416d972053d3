"""`check_augmenter`: what every method must hold to; here those at the rows door."""

from __future__ import annotations

import numpy as np

from tailwright.augmentation import (
    Augmenter,
    BatchAugmenter,
    HiddenAugmenter,
    RowAugmenter,
    augmenter,
    augmenters,
)
from tailwright.checks.batch_door import check_batch_augmenter
from tailwright.checks.corpora import odd_corpus, tiny_corpus
from tailwright.checks.hidden_door import check_hidden_augmenter
from tailwright.checks.require import require
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.pairs import same_pairs
from tailwright.streams import stream


def check_augmenter(method: str | Augmenter) -> None:
    """Raise AssertionError with one sentence on the first promise that `method` breaks.

    A method that is given by its name has the settings that it calls `quick`.
    """
    chosen = augmenter(method, augmenters.get(method).quick) if isinstance(method, str) else method
    doors = {"rows": RowAugmenter, "batch": BatchAugmenter, "hidden": HiddenAugmenter}
    fits = isinstance(chosen, doors.get(chosen.card.door, ()))
    require(fits, f"its card says door {chosen.card.door!r}, and it does not enter there")
    if isinstance(chosen, RowAugmenter):
        check_row_augmenter(chosen)
    elif isinstance(chosen, BatchAugmenter):
        check_batch_augmenter(chosen)
    elif isinstance(chosen, HiddenAugmenter):
        check_hidden_augmenter(chosen)


def check_row_augmenter(augmenter: RowAugmenter) -> None:
    """The promises of the rows door."""
    for corpus in (tiny_corpus(), odd_corpus()):
        before = corpus.train.take(np.arange(len(corpus.train)))
        made = augmenter.new_rows(corpus, seed=1)
        require(corpus.train.same_as(before), "its input was changed")
        _check_rows(augmenter, corpus, made)
        _check_seeded(augmenter, corpus, made)
        _check_order(augmenter, corpus, made)
        _check_statistics(corpus, made)
    _check_without_rows(augmenter)


def _check_rows(augmenter: RowAugmenter, corpus: Corpus, made: Dataset) -> None:
    card = augmenter.card
    require(made.labels == len(corpus.labels), "its rows are over other labels")
    require(set(made.origin.names()) <= {card.name}, f"origin.methods of its rows must be {card.name!r}")
    if not card.keeps_targets:
        return
    place = {int(row): position for position, row in enumerate(corpus.train.origin.rows)}
    sources = corpus.train.take([place[int(row)] for row in made.origin.rows])
    for column in ("targets", "ignored", "excluded"):
        kept = same_pairs(getattr(made, column), getattr(sources, column))
        require(kept, f"{column} differ from those of the source rows, and its card says keeps_targets")


def _check_seeded(augmenter: RowAugmenter, corpus: Corpus, made: Dataset) -> None:
    require(augmenter.new_rows(corpus, seed=1).same_as(made), "the same seed gives other rows")
    workers = augmenter.new_rows(corpus, seed=1, workers=2)
    require(workers.same_as(made), "two workers give other rows than one")


def _check_order(augmenter: RowAugmenter, corpus: Corpus, made: Dataset) -> None:
    order = stream(0, "check-order").permutation(len(corpus.train))
    shuffled = augmenter.new_rows(corpus.with_train(corpus.train.take(order)), seed=1)
    require(_sorted(shuffled).same_as(_sorted(made)), "the order of the rows changes what is made of them")


def _check_statistics(corpus: Corpus, made: Dataset) -> None:
    grown = corpus.with_train(Dataset.concat([corpus.train, made]))
    same = np.array_equal(grown.labels.counts, corpus.labels.counts)
    require(same, "its rows are counted as original rows in the label statistics")


def _check_without_rows(augmenter: RowAugmenter) -> None:
    corpus = tiny_corpus()
    empty = corpus.with_train(corpus.train.take([]))
    require(augmenter.new_rows(empty, seed=1).labels == len(corpus.labels), "it fails on no rows")


def _sorted(rows: Dataset) -> Dataset:
    texts = rows.texts.to_pylist()
    return rows.take(sorted(range(len(rows)), key=lambda i: (int(rows.origin.rows[i]), texts[i])))
