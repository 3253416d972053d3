"""What every method that refines made rows must hold to; `check_augmenter` asks for it.

Each is applied by `tailwright.augment`, which gives a trained classifier to a method that asks for one.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from tailwright.augmentation import RowRefiner
from tailwright.checks.corpora import odd_corpus, require, tiny_corpus
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset, Origin, arrow_strings
from tailwright.data.pairs import same_pairs
from tailwright.runs.augmenting import augment
from tailwright.streams import stream


def check_row_refiner(method: RowRefiner) -> None:
    """Raise AssertionError with one sentence on the first promise that it breaks."""
    for plain in (tiny_corpus(), odd_corpus()):
        corpus = with_copies(plain)
        before = corpus.train.take(np.arange(len(corpus.train)))
        refined = augment(corpus, method, seed=1).train
        require(corpus.train.same_as(before), "its input was changed")
        same = refined.originals().same_as(corpus.train.originals())
        require(same, "original rows are changed, dropped or moved")
        _check_rows(method, corpus.train, refined)
        again = augment(corpus, method, seed=1).train
        require(again.same_as(refined), "the same seed gives other rows")
        order = stream(0, "check-order").permutation(len(corpus.train))
        shuffled = augment(corpus.with_train(corpus.train.take(order)), method, seed=1).train
        same = sorted_rows(shuffled).same_as(sorted_rows(refined))
        require(same, "the order of the rows changes what becomes of them")
    _check_nothing_made(method, tiny_corpus())
    copies = with_copies(odd_corpus())
    made = np.flatnonzero(~copies.train.origin.is_original())
    augment(copies.with_train(copies.train.take(made)), method)  # it must not fail without original rows


def with_copies(corpus: Corpus) -> Corpus:
    """The corpus with two made rows for each: its words backwards, and without the first one."""
    train = corpus.train
    texts = [text.split() for text in train.texts.to_pylist()]
    copies = [
        replace(
            train,
            texts=arrow_strings([" ".join(words) for words in changed]),
            origin=Origin.made_by(name, train.origin.rows),
        )
        for name, changed in (
            ("backwards", [words[::-1] for words in texts]),
            ("shorter", [words[1:] for words in texts]),
        )
    ]
    return corpus.with_train(Dataset.concat([train, *copies]))


def sorted_rows(rows: Dataset) -> Dataset:
    """The rows by their source, method and text."""
    keys = list(zip(rows.origin.rows.tolist(), rows.origin.names(), rows.texts.to_pylist(), strict=True))
    return rows.take(sorted(range(len(rows)), key=keys.__getitem__))


def _check_rows(method: RowRefiner, before: Dataset, after: Dataset) -> None:
    """All rows were there before, in the same order; the targets are theirs."""
    named = [
        list(zip(rows.origin.rows.tolist(), rows.origin.names(), rows.texts.to_pylist(), strict=True))
        for rows in (before, after)
    ]
    left = iter(enumerate(named[0]))
    places = [next((place for place, known in left if known == row), -1) for row in named[1]]
    require(-1 not in places, "it gives rows that were not there, or in another order")
    kept = before.take(places)
    columns = ("targets", "ignored", "excluded") if method.card.keeps_targets else ("targets", "excluded")
    for column in columns:
        same = same_pairs(getattr(after, column), getattr(kept, column))
        require(same, f"{column} of made rows are changed")


def _check_nothing_made(method: RowRefiner, corpus: Corpus) -> None:
    for plain in (corpus, corpus.with_train(corpus.train.take([]))):
        said = _Warnings()
        logging.getLogger("tailwright").addHandler(said)
        try:
            after = augment(plain, method, seed=1)
        finally:
            logging.getLogger("tailwright").removeHandler(said)
        require(after.same_as(plain), "a corpus without made rows is changed")
        require(len(said.lines) == 1, f"one warning says that no rows were made, got {len(said.lines)}")


class _Warnings(logging.Handler):
    """Keeps what is said of warnings and worse."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
