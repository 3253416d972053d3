"""What every method at the batch door must hold to; `check_augmenter` asks for it."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise

import numpy as np

from tailwright.augmentation import BatchAugmenter
from tailwright.checks.corpora import odd_corpus, require, tiny_corpus
from tailwright.data.batch_targets import BatchTargets
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset, Origin
from tailwright.data.pairs import pairs_from_lists
from tailwright.streams import stream
from tailwright.training.batches import BatchDrawer, BatchMix, DrawnBatch

BATCHES, ROWS = 20, 16


def check_batch_augmenter(augmenter: BatchAugmenter) -> None:
    """Raise AssertionError with one sentence on the first promise that it breaks."""
    for corpus in (tiny_corpus(), odd_corpus()):
        before = corpus.train.take(np.arange(len(corpus.train)))
        mix, again = augmenter.prepare(corpus, seed=1), augmenter.prepare(corpus, seed=1)
        beside_others = augmenter.prepare(with_made_rows(corpus), seed=1)
        for number in range(BATCHES):
            drawn, mixed = _mixed(corpus, mix, number)
            _check_form(drawn, mixed, len(corpus.labels))
            _check_targets(augmenter, corpus, drawn, mixed)
            require(_same(_mixed(corpus, again, number)[1], mixed), "the same seed gives another batch")
            unmoved = _same(_mixed(corpus, beside_others, number)[1], mixed)
            require(unmoved, "rows of another augmentation enter its label statistics")
        require(corpus.train.same_as(before), "its input was changed")
    _check_draws(augmenter)
    _check_without_rows(augmenter)


def _mixed(corpus: Corpus, mix: BatchMix, number: int) -> tuple[DrawnBatch, DrawnBatch]:
    """A batch as it is drawn, and what the method makes of it."""
    rows = stream(0, "check-batch", number).integers(0, len(corpus.train), ROWS)
    drawn, kept = (BatchDrawer(corpus.train)(rows, stream(0, "check-batch")) for _ in range(2))
    mixed = mix(drawn, stream(1, "check-batch", number))
    require(_same(drawn, kept), "the batch that it was given was changed")
    return drawn, mixed


def _check_form(drawn: DrawnBatch, mixed: DrawnBatch, labels: int) -> None:
    require(np.array_equal(mixed.rows, drawn.rows), "it gives other rows than it got")
    given, made = drawn.targets, mixed.targets
    for name in ("starts", "labels", "values", "ignored_starts", "ignored", "weights"):
        dtype, expected = getattr(made, name).dtype, getattr(given, name).dtype
        require(dtype == expected, f"{name} are {dtype}, expected {expected}")
    require(mixed.appended.dtype == drawn.appended.dtype, f"appended are {mixed.appended.dtype}")
    for name in ("ignored_starts", "ignored", "weights"):
        same = np.array_equal(getattr(made, name), getattr(given, name))
        require(same, "it changes ignored pairs or weights")
    starts, pairs = made.starts, len(made.labels)
    whole = len(starts) == len(given.starts) and starts[0] == 0 and starts[-1] == pairs == len(made.values)
    require(whole and bool((np.diff(starts) >= 0).all()), "starts do not cut its labels into rows")
    require(bool(((made.labels >= 0) & (made.labels < labels)).all()), "a label is out of range")
    ascending = all((np.diff(made.labels[a:b]) > 0).all() for a, b in pairwise(starts))
    require(ascending, "labels do not ascend within a row")
    require(bool(((made.values > 0) & (made.values <= 1)).all()), "a target is not in (0, 1]")


def _check_targets(augmenter: BatchAugmenter, corpus: Corpus, drawn: DrawnBatch, mixed: DrawnBatch) -> None:
    before, after = _pairs(drawn), _pairs(mixed)
    require(before.keys() <= after.keys(), "a positive of a row is lost")
    if augmenter.card.keeps_targets:
        require(before == after, "targets differ from those it got, and its card says keeps_targets")
    learnt = corpus.train.learnt_targets()[drawn.rows].toarray()
    for place, label in enumerate(mixed.appended):
        carried = label < 0 or learnt[place, label] > 0
        require(carried, "it appends the text of a label that is no learnt positive of the row")


def _check_draws(augmenter: BatchAugmenter) -> None:
    """It does something, and not the same at each time."""
    corpus = tiny_corpus()
    mix = augmenter.prepare(corpus, seed=1)
    drawn = BatchDrawer(corpus.train)(np.arange(ROWS), stream(0, "check-batch"))
    made = [mix(drawn, stream(1, "check-batch", number)) for number in range(BATCHES)]
    require(not all(_same(batch, drawn) for batch in made), "it changes nothing")
    require(not all(_same(batch, made[0]) for batch in made), "it draws the same at each time")


def _check_without_rows(augmenter: BatchAugmenter) -> None:
    corpus = tiny_corpus()
    nothing = np.empty(0, dtype=np.int64)
    for source in (corpus, corpus.with_train(corpus.train.take([]))):
        drawn = BatchDrawer(source.train)(nothing, stream(0, "check-batch"))
        mixed = augmenter.prepare(source, seed=1)(drawn, stream(1, "check-batch"))
        require(_same(mixed, drawn), "it fails on no rows")


def with_made_rows(corpus: Corpus) -> Corpus:
    """The corpus with rows of another augmentation that carry every label, so that they would be noticed."""
    labels = len(corpus.labels)
    every = pairs_from_lists([list(range(labels))] * labels, labels)
    made = Dataset(corpus.labels.texts, every, origin=Origin.made_by("another", np.arange(labels)))
    return corpus.with_train(Dataset.concat([corpus.train, made]))


def _pairs(batch: DrawnBatch) -> dict[tuple[int, int], float]:
    targets = batch.targets
    pairs = zip(targets.rows.tolist(), targets.labels.tolist(), strict=True)
    return dict(zip(pairs, targets.values, strict=True))


def _same(a: DrawnBatch, b: DrawnBatch) -> bool:
    same = np.array_equal(a.rows, b.rows) and np.array_equal(a.appended, b.appended)
    arrays = (f.name for f in fields(BatchTargets))
    return same and all(np.array_equal(getattr(a.targets, n), getattr(b.targets, n)) for n in arrays)
