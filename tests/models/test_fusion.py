"""Fusions of any models: their doors and settings, what they learn, and how they rank."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tailwright.augmentation import AugmenterCard, BatchAugmenter, HiddenAugmenter
from tailwright.checks import check_model
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.pairs import pairs_from_lists
from tailwright.errors import InputError
from tailwright.evaluation import metrics_at_k
from tailwright.models import ModelCard, models
from tailwright.models.fusion.combination import plain_combination
from tailwright.models.fusion.model import Fusion
from tailwright.settings import settings_from

sys.path.insert(0, str(Path(__file__).parent))
from tiny_fusions import QUICK, TOYS, fitted, in_one_thread, name_toys, same
from toy_parts import LABELS, KnowsFrequent, KnowsRare, Toy, share_right, toy_corpus, toy_rows


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    with in_one_thread():
        yield


@pytest.fixture(autouse=True)
def toys(monkeypatch) -> None:
    name_toys(monkeypatch)


@pytest.fixture(scope="module")
def both() -> Fusion:
    """linear+twin with a learnt combination."""
    return fitted("linear+twin", tiny_corpus(rows=200), QUICK)


@pytest.mark.parametrize("name", ["label-matcher+linear", "label-matcher+linear+popularity"])
def test_other_fusions_keep_the_contract_too(name):
    # Label texts as rows make scores of `linear` on so few rows nearly equal, so it must solve them well.
    settings = {"linear": {"tolerance": 1e-4}}
    check_model(name, settings)
    places = mean_places_of_label_0(name, settings)
    assert places == sorted(places)
    card = models.get(name).card
    assert (card.name, card.doors) == (name, ("rows",))
    assert set(card.reads) == {"texts", "targets", "label texts"}


def mean_places_of_label_0(name: str, settings: dict) -> list[float]:
    """Over all rows, when those that carry the label weigh 1, 0.5 and 0.25: no weight, no better place."""
    corpus, places = tiny_corpus(), []
    carriers = corpus.train.targets[:, [0]].toarray().ravel() > 0
    for weight in (1, 0.5, 0.25):
        weights = np.where(carriers, weight, 1).astype(np.float32)
        model = fitted(name, corpus.with_train(replace(corpus.train, weights=weights)), settings)
        named = model.predict(corpus.train.texts, 5).ids == 0
        places.append(float(np.where(named.any(axis=1), named.argmax(axis=1), 5).mean()))
    return places


def test_a_part_that_knows_little_is_learnt_to_be_believed_little():
    """Popularity outshouts label-matcher where they are weighed alike; held-out rows tell better."""
    corpus = tiny_corpus(rows=400)
    train, test = corpus.train.split(0.25)

    def precision(model) -> float:
        return metrics_at_k(model.predict(test.texts, 1).ids, test.targets, None, (1,))["P@1"]

    alike, learnt = (
        fitted("popularity+label-matcher", corpus.with_train(train), {"held_out": 0.25, "fewest": fewest})
        for fewest in (10**6, 50)
    )
    popularity, matcher = map(precision, learnt.parts)
    assert precision(alike) < matcher
    assert precision(learnt) >= matcher > popularity


def test_a_fusion_has_the_doors_of_its_parts():
    assert models.get("linear+twin").card.doors == ("rows", "batch")
    assert models.get("linear+popularity").card.doors == ("rows",)


class Mixes(BatchAugmenter):
    card = AugmenterCard("mixes", "x", "batch", keeps_targets=True)

    def prepare(self, corpus, *, seed=0):
        return lambda batch, random: batch


class MixesContexts(HiddenAugmenter):
    card = AugmenterCard("mixes-contexts", "x", "hidden", keeps_targets=True, mix_points=("contexts",))

    def prepare(self, corpus, *, points, seed=0):
        return lambda targets, *, epoch, random: []


class WithBatches(KnowsFrequent):
    card = replace(KnowsFrequent.card, name="with-batches", doors=("rows", "batch"))


class WithContexts(KnowsRare):
    card = replace(KnowsRare.card, name="with-contexts", doors=("rows", "hidden"), mix_points=("contexts",))


class WithOutput(KnowsRare):
    card = replace(KnowsRare.card, name="with-output", doors=("rows", "hidden"), mix_points=("output",))


def test_each_part_gets_the_mixes_that_can_enter_it_and_a_mix_without_a_part_is_refused(monkeypatch):
    for kind in (WithBatches, WithContexts, WithOutput):
        monkeypatch.setitem(models._found, kind.card.name, kind)
    kind = models.get("with-batches+with-contexts+with-output")
    assert kind.card.doors == ("rows", "batch", "hidden")
    assert kind.card.mix_points == ("contexts", "output")
    model, batches, contexts = kind(), Mixes(), MixesContexts()
    model.mixes = [batches, contexts]
    model.fit(toy_corpus(100))
    assert [list(part.mixes) for part in model.parts] == [[batches], [contexts], []]
    without = models.get("with-batches+with-output")()
    without.mixes = [contexts]
    with pytest.raises(InputError, match=r"with-batches\+with-output cannot be trained with mixes-contexts"):
        without.fit(toy_corpus(100))


@pytest.mark.parametrize(("doors", "points"), [(("rows", "hidden"), ()), (("rows",), ("contexts",))])
def test_a_model_has_the_hidden_door_just_if_it_has_mix_points(doors, points):
    with pytest.raises(ValueError, match="mix_points must be named by a model with the hidden door"):
        ModelCard("x", "x", ("texts",), doors=doors, mix_points=points)


def test_excluded_pairs_are_told_to_the_parts(monkeypatch):
    told = []

    def besides(self, texts, k, excluded):
        told.append((self.card.name, excluded.toarray()))
        return self.predict(texts, k)

    monkeypatch.setattr(Toy, "predict_besides", besides)
    model = fitted(TOYS, toy_corpus(100))
    rows = toy_rows(100, 103)
    excluded = pairs_from_lists([[1], [], [4, 7]], LABELS)
    besides, plainly = model.predict_besides(rows.texts, 3, excluded), model.predict(rows.texts, 3)
    np.testing.assert_array_equal(besides.ids, plainly.ids)
    assert [name for name, _ in told] == TOYS.split("+")
    assert all(np.array_equal(pairs, excluded.toarray()) for _, pairs in told)


def test_a_setting_of_a_part_goes_by_its_short_name_where_that_is_the_only_one():
    settings = settings_from(
        models.get("linear+twin").Settings, {"trees": "4", "twin.width": 32, "epochs": 2}
    )
    assert (settings.linear.trees, settings.twin.width, settings.twin.epochs) == (4, 32, 2)
    assert (models.get("linear+twin").Settings().linear.trees, settings.candidates) == (1, 25)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"held_out": 1.0}, "held_out must be in (0, 1), got 1.0"),
        ({"candidates": 0}, "candidates must be in [1, 10000], got 0"),
        ({"tail": 2}, "tail must be in [0, 1], got 2.0"),
        ({"linear": {"tree": 2}}, "unknown setting 'tree'; did you mean 'trees'?"),
        ({"linear": {"trees": 0}}, "trees must be in [1, 1000], got 0"),
        ({"liner": {"trees": 2}}, "unknown setting 'liner'; did you mean 'linear'?"),
        ({"linear": 3}, "setting linear: found 3, expected linear.NAME=VALUE"),
    ],
)
def test_wrong_settings_are_one_line(values, line):
    with pytest.raises(InputError) as caught:
        settings_from(models.get("linear+twin").Settings, values)
    assert str(caught.value) == line


def test_probabilities_are_between_0_and_1_and_sorted(both):
    texts = [*tiny_corpus(rows=200).train.texts.to_pylist(), "apple", "zzz", ""]
    top = both.predict(texts, 8)
    for ids, scores in zip(top.ids, top.scores, strict=True):
        real = scores[ids >= 0]
        assert ((real > 0) & (real < 1)).all()
        assert (np.diff(real) <= 0).all()
    assert (top.ids[:201, 0] >= 0).all()


@pytest.mark.parametrize("candidates", [2, 4, 25])
def test_the_best_5_are_the_same_however_many_are_asked_for(both, candidates):
    texts = tiny_corpus(rows=60, seed=3).train.texts
    model = models.get("linear+twin")(replace(both.settings, candidates=candidates))
    model.parts, model.combination, model.counts = both.parts, both.combination, both.counts
    model.mentions = both.mentions
    few, many = model.predict(texts, 5), model.predict(texts, 60)
    np.testing.assert_array_equal(few.ids, many.ids[:, :5])
    np.testing.assert_array_equal(few.scores, many.scores[:, :5])
    assert (few.ids >= 0).all()
    for ids, scores in zip(many.ids, many.scores, strict=True):
        named = ids[ids >= 0]
        # Beyond what was weighed stands what the parts name, once, with lower scores; then padding.
        assert sorted(named) == sorted(set(named.tolist()))
        assert len(named) == 11
        assert (ids[11:] == -1).all()
        assert (scores[11:] == -np.inf).all()
        assert (np.diff(scores[:11]) <= 0).all()


def test_with_few_rows_the_mean_of_the_shares_ranks():
    model = fitted(TOYS, toy_corpus(100), {"candidates": LABELS})
    assert same(model.combination, plain_combination(2, 32))
    data = toy_rows(100, 140)
    shares = np.zeros((len(data), LABELS))
    for part in model.parts:
        top = part.predict(data.texts, LABELS)
        scores = np.zeros((len(data), LABELS))
        np.put_along_axis(scores, top.ids, top.scores, axis=1)
        shares += scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    top = model.predict(data.texts, 3)
    np.testing.assert_array_equal(top.ids, np.argsort(-shares, axis=1, kind="stable")[:, :3])
    best = np.take_along_axis(shares, top.ids, axis=1) / 2
    np.testing.assert_allclose(top.scores, 1 / (1 + np.exp(-best)), rtol=1e-4)


def test_what_is_learnt_is_better_than_either_part_and_than_their_mean():
    """One part knows the frequent labels, the other the rare ones; frequency tells whom to believe."""
    corpus, data = toy_corpus(2000), toy_rows(2000, 2500)
    model = fitted(TOYS, corpus, {"held_out": 0.25})
    alone = [share_right(part.predict(data.texts, 1), data) for part in model.parts]
    mean = share_right(fitted(TOYS, corpus, {"fewest": 10**6}).predict(data.texts, 1), data)
    learnt = share_right(model.predict(data.texts, 1), data)
    assert learnt > max(*alone, mean) + 0.2
    assert learnt > 0.9
