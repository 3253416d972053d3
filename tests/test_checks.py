"""The generic checks pass for what keeps the contract, and catch each way of breaking it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toy_augmenter import SwapTwoWords

from tailwright.augmentation import AugmenterCard, augmenters
from tailwright.augmentation.labelmix import LabelMix
from tailwright.checks import check_augmenter, check_model
from tailwright.checks.corpora import tiny_corpus
from tailwright.data import Dataset, Origin
from tailwright.data.pairs import pairs_from_arrays
from tailwright.evaluation.ranking import TopK
from tailwright.models import ModelCard, models
from tailwright.models.label_matcher import LabelMatcher
from tailwright.models.popularity import Popularity
from tailwright.runs import augment
from tailwright.streams import stream
from tailwright.training.batches import BatchDrawer
from tailwright.training.workplace import Workplace

# Networks over tokens are checked with settings for so few rows, each in its own test file.
OF_TOKENS = {"attentionxml", "la-roberta", "lightxml", "roberta", "xml-cnn"}
OF_TOKENS |= {"inceptionxml", "inceptionxml-lf"}
# They learn in the phases of astec, which is checked each time, and take longest. What short trainings show
# of them is in `test_short_trainings.py`.
LONG = {"decaf", "eclare"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in LONG else [])
        for name in models.names()
        if name not in OF_TOKENS
    ],
)
def test_every_model_passes_the_checks(name):
    check_model(name)


@pytest.mark.usefixtures("own_long_work")
@pytest.mark.parametrize("name", augmenters.names())
def test_every_augmenter_passes_the_checks(name):
    check_augmenter(name)


def test_the_toy_augmenter_passes_the_checks():
    check_augmenter(SwapTwoWords())


def test_augment_puts_new_rows_behind_the_old_ones():
    corpus = tiny_corpus()
    grown = augment(corpus, SwapTwoWords(), seed=3)
    assert grown.train.take(np.arange(len(corpus.train))).same_as(corpus.train)
    assert len(grown.train) == 2 * len(corpus.train)
    assert set(grown.train.origin.names()[len(corpus.train) :]) == {"swap-two-words"}
    assert np.array_equal(grown.labels.counts, corpus.labels.counts)


def test_the_public_name_works_before_and_after_the_room_is_imported():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import tailwright as tw; "
        "from tailwright.checks.corpora import tiny_corpus; from toy_augmenter import SwapTwoWords; "
        "first = tw.augment(tiny_corpus(), SwapTwoWords()); import tailwright.augmentation; "
        "assert tw.augment(tiny_corpus(), SwapTwoWords()).train.same_as(first.train)"
    )
    subprocess.run([sys.executable, "-c", code, str(Path(__file__).parent)], check=True)


class Unseeded(SwapTwoWords):
    calls = 0

    def new_rows(self, corpus, *, seed=0, workers=1):
        self.calls += 1
        return super().new_rows(corpus, seed=seed + self.calls, workers=workers)


class ByPosition(SwapTwoWords):
    """Draws by position instead of by origin, so that shuffling the rows changes them."""

    def new_rows(self, corpus, *, seed=0, workers=1):
        renumbered = replace(corpus.train, origin=Origin.originals(len(corpus.train)))
        made = super().new_rows(corpus.with_train(renumbered), seed=seed, workers=workers)
        return replace(made, origin=Origin.made_by(self.card.name, corpus.train.origin.rows))


class Binarises(SwapTwoWords):
    def new_rows(self, corpus, *, seed=0, workers=1):
        made = super().new_rows(corpus, seed=seed, workers=workers)
        hard = made.targets.copy()
        hard.data = np.ones_like(hard.data)
        return replace(made, targets=hard)


class DropsIgnored(SwapTwoWords):
    def new_rows(self, corpus, *, seed=0, workers=1):
        made = super().new_rows(corpus, seed=seed, workers=workers)
        return Dataset(made.texts, made.targets, made.weights, origin=made.origin)


class CallsItselfOriginal(SwapTwoWords):
    def new_rows(self, corpus, *, seed=0, workers=1):
        made = super().new_rows(corpus, seed=seed, workers=workers)
        return replace(made, origin=Origin.originals(len(made)))


class WorkersMatter(SwapTwoWords):
    def new_rows(self, corpus, *, seed=0, workers=1):
        return super().new_rows(corpus, seed=seed + workers, workers=workers)


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (Unseeded, "the same seed gives other rows"),
        (ByPosition, "the order of the rows changes"),
        (Binarises, "targets differ"),
        (DropsIgnored, "ignored differ"),
        (CallsItselfOriginal, "origin.methods"),
        (WorkersMatter, "two workers give other rows"),
    ],
)
def test_a_broken_augmenter_is_caught(broken, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_augmenter(broken())


class Mixer(LabelMix):
    """LabelMix whose every batch is changed once more by `spoil`, in one of the ways that must be caught."""

    def prepare(self, corpus, *, seed=0):
        mix = super().prepare(corpus, seed=seed)
        return lambda batch, random: self.spoil(mix(batch, random), batch, corpus)

    def spoil(self, mixed, batch, corpus):
        return mixed


class DrawsFromItself(LabelMix):
    calls = 0

    def prepare(self, corpus, *, seed=0):
        self.calls += 1
        mix, calls = super().prepare(corpus, seed=seed), self.calls
        return lambda batch, random: mix(batch, stream(calls, "itself"))


class ChangesItsBatch(Mixer):
    def spoil(self, mixed, batch, corpus):
        batch.targets.values[:] = 0.5
        return mixed


class NotAscending(Mixer):
    def spoil(self, mixed, batch, corpus):
        labels = np.sort(mixed.targets.labels)[::-1].copy()
        return replace(mixed, targets=replace(mixed.targets, labels=labels))


class AboveOne(Mixer):
    def spoil(self, mixed, batch, corpus):
        values = mixed.targets.values * np.float32(1.5)
        return replace(mixed, targets=replace(mixed.targets, values=values))


class LosesPositives(Mixer):
    def spoil(self, mixed, batch, corpus):
        starts = np.zeros_like(mixed.targets.starts)
        labels, values = mixed.targets.labels[:0], mixed.targets.values[:0]
        return replace(mixed, targets=replace(mixed.targets, starts=starts, labels=labels, values=values))


class AppendsAnything(Mixer):
    def spoil(self, mixed, batch, corpus):
        return replace(mixed, appended=np.full_like(mixed.appended, len(corpus.labels) - 1))


class CountsMadeRows(LabelMix):
    def prepare(self, corpus, *, seed=0):
        renamed = replace(corpus.train, origin=Origin.originals(len(corpus.train)))
        return super().prepare(corpus.with_train(renamed), seed=seed)


class DoesNothing(Mixer):
    def spoil(self, mixed, batch, corpus):
        return batch


class OtherRows(Mixer):
    def spoil(self, mixed, batch, corpus):
        return replace(mixed, rows=mixed.rows[::-1].copy())


class SaysItKeepsTargets(LabelMix):
    card = replace(LabelMix.card, keeps_targets=True)


class SaysItAddsRows(LabelMix):
    card = replace(LabelMix.card, door="rows")


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (DrawsFromItself, "the same seed gives another batch"),
        (ChangesItsBatch, "the batch that it was given was changed"),
        (NotAscending, "labels do not ascend"),
        (AboveOne, r"a target is not in \(0, 1\]"),
        (LosesPositives, "a positive of a row is lost"),
        (AppendsAnything, "no learnt positive of the row"),
        (CountsMadeRows, "rows of another augmentation enter its label statistics"),
        (DoesNothing, "it changes nothing"),
        (OtherRows, "it gives other rows than it got"),
        (SaysItKeepsTargets, "its card says keeps_targets"),
        (SaysItAddsRows, "its card says door 'rows', and it does not enter there"),
    ],
)
def test_a_broken_augmenter_at_the_batch_door_is_caught(broken, complaint):
    check_augmenter(Mixer())
    with pytest.raises(AssertionError, match=complaint):
        check_augmenter(broken())


class HardTargets(Popularity):
    def learn(self, corpus, *, seed, work):
        hard = corpus.train.targets.copy()
        hard.data = np.ones_like(hard.data)
        super().learn(corpus.with_train(replace(corpus.train, targets=hard)), seed=seed, work=work)


class DropsBelowSixTenths(Popularity):
    """Rounds, yet so that 0.5 and 1 differ."""

    def learn(self, corpus, *, seed, work):
        super().learn(corpus.with_train(corpus.train.binarised(0.6)), seed=seed, work=work)


class SaysItHasABatchDoor(Popularity):
    card = replace(Popularity.card, doors=("rows", "batch"))


class DeafToAppendedTexts(Popularity):
    """Sees what a mix does to targets, and nothing else of it."""

    card = SaysItHasABatchDoor.card

    def learn(self, corpus, *, seed, work):
        train = corpus.train
        mixes = [mix.prepare(corpus, seed=seed) for mix in self.mixes]
        mixed = BatchDrawer(train, mixes)(np.arange(len(train)), stream(seed, "deaf")).targets
        targets = pairs_from_arrays(mixed.values, mixed.labels, mixed.starts, train.labels)
        super().learn(corpus.with_train(replace(train, targets=targets)), seed=seed, work=work)


class NoWeights(Popularity):
    def learn(self, corpus, *, seed, work):
        train = replace(corpus.train, weights=np.ones(len(corpus.train), dtype=np.float32))
        super().learn(corpus.with_train(train), seed=seed, work=work)


class RoundsWeights(Popularity):
    """Takes every weight below 1 for one half."""

    def learn(self, corpus, *, seed, work):
        weights = np.where(corpus.train.weights < 1, np.float32(0.5), corpus.train.weights)
        super().learn(corpus.with_train(replace(corpus.train, weights=weights)), seed=seed, work=work)


class NoLabelWeights(Popularity):
    def learn(self, corpus, *, seed, work):
        super().learn(corpus.with_train(replace(corpus.train, label_weights=None)), seed=seed, work=work)


class WeighsLabelsOfAllRows(Popularity):
    """Original rows included."""

    def learn(self, corpus, *, seed, work):
        every = Origin.made_by("copy", corpus.train.origin.rows)
        super().learn(corpus.with_train(replace(corpus.train, origin=every)), seed=seed, work=work)


class RoundsLabelWeights(Popularity):
    """Takes every label weight for one half."""

    def learn(self, corpus, *, seed, work):
        train = corpus.train
        if train.label_weights is not None:
            train = replace(train, label_weights=np.full(train.labels, 0.5))
        super().learn(corpus.with_train(train), seed=seed, work=work)


class ReadsWeightlessRows(LabelMatcher):
    """Takes the words of all rows, whatever they weigh."""

    def fit(self, corpus, *, seed=0, work=None):
        self.learn(corpus, seed=seed, work=work or Workplace())


class NoMask(Popularity):
    def learn(self, corpus, *, seed, work):
        train = corpus.train
        kept = Dataset(train.texts, train.targets, train.weights, origin=train.origin)
        super().learn(corpus.with_train(kept), seed=seed, work=work)


class Backwards(Popularity):
    def predict(self, texts, k):
        top = super().predict(texts, k)
        return TopK(top.ids[:, ::-1].copy(), top.scores[:, ::-1].copy())


class Forgets(Popularity):
    def load(self, folder, labels):
        super().load(folder, labels)
        self.frequencies = self.frequencies + 1


class KnowsBlankTexts(Popularity):
    def knows(self, texts):
        return np.ones(len(texts), dtype=bool)


class KnowsNothing(Popularity):
    def knows(self, texts):
        return np.zeros(len(texts), dtype=bool)


class ClaimsToReadTexts(Popularity):
    card = ModelCard("popularity", "x", ("texts", "targets"))


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (HardTargets, "soft targets make no difference"),
        (DropsBelowSixTenths, "the same from targets of 0.3 and of 0.5: soft targets are rounded"),
        (SaysItHasABatchDoor, "targets of a mixed batch make no difference"),
        (DeafToAppendedTexts, "appended texts of a mixed batch make no difference"),
        (NoWeights, "weights make no difference"),
        (RoundsWeights, "the same from weights of 0.25 and of 0.5: weights are rounded"),
        (NoLabelWeights, "label weights of 0.5 are not to made rows"),
        (WeighsLabelsOfAllRows, "label weights of 0.5 are not to made rows"),
        (RoundsLabelWeights, "the same from label weights of 0.25 and of 0.5"),
        (ReadsWeightlessRows, "rows of weight 0 make a difference"),
        (NoMask, "ignored pairs make no difference"),
        (Backwards, "not sorted by score"),
        (Forgets, "saved and loaded"),
        (KnowsBlankTexts, "it knows something of a blank text"),
        (KnowsNothing, "it knows nothing of a text that it learnt from"),
        (ClaimsToReadTexts, "popularity has"),
    ],
)
def test_a_broken_model_is_caught(broken, complaint, monkeypatch):
    monkeypatch.setitem(models._found, broken.__name__.lower(), broken)
    with pytest.raises(AssertionError, match=complaint):
        check_model(broken.__name__.lower())


def test_a_card_must_fit_the_method():
    class Wrong(SwapTwoWords):
        card = AugmenterCard("other", "x", "rows", keeps_targets=True)

        def new_rows(self, corpus, *, seed=0, workers=1):
            made = super().new_rows(corpus, seed=seed, workers=workers)
            return replace(made, origin=Origin.made_by("swap-two-words", made.origin.rows))

    with pytest.raises(AssertionError, match=r"origin\.methods of its rows must be 'other'"):
        check_augmenter(Wrong())


def test_the_toy_augmenter_exchanges_two_words_and_leaves_short_texts():
    assert SwapTwoWords().changed("red shoes", 0, 0) == "shoes red"
    assert [SwapTwoWords().changed(text, 0, 0) for text in ("", "word")] == ["", "word"]
