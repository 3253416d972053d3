"""`check_augmenter`: the promises that every augmentation keeps, by door; here those of the rows door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tailwright.augmentation import (
    Augmenter,
    BatchAugmenter,
    HiddenAugmenter,
    RowAugmenter,
    RowRefiner,
    augmenter,
    augmenters,
)
from tailwright.checks.batch_door import check_batch_augmenter
from tailwright.checks.corpora import odd_corpus, require, tiny_corpus
from tailwright.checks.hidden_door import check_hidden_augmenter
from tailwright.checks.refiners import check_row_refiner, sorted_rows
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.pairs import same_pairs
from tailwright.streams import stream


def check_augmenter(method: str | Augmenter) -> None:
    """Raise AssertionError with one sentence on the first promise that `method` breaks.

    A method given by its name is checked with its `quick` settings.
    """
    if isinstance(method, str):
        method = augmenter(method, augmenters.get(method).quick)
    for kind, doors, check in CHECKS:
        if isinstance(method, kind):
            enters = method.card.door in doors
            require(enters, f"its card says door {method.card.door!r}, and it does not enter there")
            check(method)


def check_row_augmenter(method: RowAugmenter) -> None:
    """The promises of the rows door."""
    for corpus in (tiny_corpus(), odd_corpus()):
        before = corpus.train.take(np.arange(len(corpus.train)))
        rows = method.new_rows(corpus, seed=1)
        require(corpus.train.same_as(before), "its input was changed")
        _check_columns(method, corpus, rows)
        require(method.new_rows(corpus, seed=1).same_as(rows), "the same seed gives other rows")
        by_two = method.new_rows(corpus, seed=1, workers=2)
        require(by_two.same_as(rows), "two workers give other rows than one")
        order = stream(0, "check-order").permutation(len(corpus.train))
        shuffled = method.new_rows(corpus.with_train(corpus.train.take(order)), seed=1)
        same = sorted_rows(shuffled).same_as(sorted_rows(rows))
        require(same, "the order of the rows changes what is made of them")
        grown = corpus.with_train(Dataset.concat([corpus.train, rows]))
        same = np.array_equal(grown.labels.counts, corpus.labels.counts)
        require(same, "its rows are counted as original rows in the label statistics")
    corpus = tiny_corpus()
    empty = corpus.with_train(corpus.train.take([]))
    require(method.new_rows(empty, seed=1).labels == len(corpus.labels), "it fails on no rows")


# Kinds of methods, the doors that they may enter at, and what checks them.
CHECKS: tuple[tuple[type[Augmenter], tuple[str, ...], Callable[[Any], None]], ...] = (
    (RowAugmenter, ("rows",), check_row_augmenter),
    (RowRefiner, ("rows",), check_row_refiner),
    (BatchAugmenter, ("batch",), check_batch_augmenter),
    (HiddenAugmenter, ("batch", "hidden"), check_hidden_augmenter),
)


def _check_columns(method: RowAugmenter, corpus: Corpus, rows: Dataset) -> None:
    card = method.card
    require(rows.labels == len(corpus.labels), "its rows are over other labels")
    require(set(rows.origin.names()) <= {card.name}, f"origin.methods of its rows must be {card.name!r}")
    if not card.keeps_targets:
        return
    place = {int(row): position for position, row in enumerate(corpus.train.origin.rows)}
    sources = corpus.train.take([place[int(row)] for row in rows.origin.rows])
    for column in ("targets", "ignored", "excluded"):
        same = same_pairs(getattr(rows, column), getattr(sources, column))
        require(same, f"{column} differ from those of the source rows, and its card says keeps_targets")
