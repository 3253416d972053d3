"""Fusions: of any models, learnt on rows that the parts did not see, kept and resumed as one model."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import ClassVar

import numba
import numpy as np
import pytest
from toy_augmenter import SwapTwoWords

import tailwright as tw
from tailwright.augmentation import AugmenterCard, BatchAugmenter, HiddenAugmenter, augmenters
from tailwright.checks import check_model
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.dataset import Dataset
from tailwright.data.pairs import pairs_from_lists
from tailwright.errors import InputError
from tailwright.evaluation import metrics_at_k
from tailwright.models import LaterRows, ModelCard, models
from tailwright.models.fusion.combination import Combination, plain_combination
from tailwright.models.fusion.model import Fusion
from tailwright.runs import augment
from tailwright.settings import settings_from
from tailwright.store import open_folder, writing
from tailwright.training.workplace import Workplace

sys.path.insert(0, str(Path(__file__).parent))
from toy_parts import LABELS, KilledError, KnowsFrequent, KnowsRare, Toy, share_right, toy_corpus, toy_rows

TOYS = "knows-frequent+knows-rare"
QUICK = {
    "fewest": 10,
    "held_out": 0.2,
    "few_rows": 0,  # parts learn once
    "twin": {"width": 16, "epochs": 2, "batch": 32, "negatives": 4},
}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Networks as small as these are slower with two threads; and another number rounds otherwise."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


@pytest.fixture(autouse=True)
def toys(monkeypatch) -> None:
    """The toy parts can be asked for by name, and remember nothing of the test before."""
    for kind in (KnowsFrequent, KnowsRare):
        monkeypatch.setitem(models._found, kind.card.name, kind)
    for name, empty in (("fits", []), ("questions", []), ("dying", set())):
        monkeypatch.setattr(Toy, name, empty)


@pytest.fixture
def few_steps(monkeypatch) -> None:
    """For tests of what a combination learns from, not of what it learns."""
    monkeypatch.setattr("tailwright.models.fusion.learning.STEPS", 20)


def fitted(name, corpus, values=None, work=None, seed=0) -> Fusion:
    kind = models.get(name)
    model = kind(settings_from(kind.Settings, values or {}))
    model.fit(corpus, seed=seed, work=work)
    return model


def same(a: Combination, b: Combination) -> bool:
    return all(np.array_equal(getattr(a, f.name), getattr(b, f.name)) for f in fields(Combination))


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


def held_rows(corpus: tw.Corpus) -> set[int]:
    """Original rows that the last fitted part did not get, by their number in the file."""
    kept = Toy.fits[-1][1].train.originals()
    return set(corpus.train.originals().origin.rows.tolist()) - set(kept.origin.rows.tolist())


@pytest.mark.usefixtures("few_steps")
def test_the_rows_held_out_follow_the_seed_and_not_the_order():
    corpus = toy_corpus(400)
    values = {"held_out": 0.25, "fewest": 1, "few_rows": 0}
    fitted(TOYS, corpus, values)
    held = held_rows(corpus)
    assert len(held) == 100
    # The combination learns from just these: they are all that the parts are asked about.
    assert {name: {int(text.split()[0]) for text in texts} for name, texts in Toy.questions} == {
        "knows-frequent": held,
        "knows-rare": held,
    }
    fitted(TOYS, corpus, values)
    assert held_rows(corpus) == held
    fitted(TOYS, corpus.with_train(corpus.train.take(np.arange(400)[::-1])), values)
    assert held_rows(corpus) == held
    fitted(TOYS, corpus, values, seed=1)
    assert held_rows(corpus) != held
    assert len(held_rows(corpus)) == 100


@pytest.mark.usefixtures("few_steps")
def test_no_more_rows_are_held_out_than_asked_for():
    corpus = toy_corpus(400)
    fitted(TOYS, corpus, {"held_out": 0.5, "most_held_out": 30, "fewest": 1, "few_rows": 0})
    assert len(held_rows(corpus)) == 30
    fitted(TOYS, corpus, {"held_out": 0.1, "fewest": 41})
    assert len(held_rows(corpus)) == 0


@pytest.mark.usefixtures("few_steps")
def test_rows_without_a_weight_or_a_label_with_a_loss_are_not_held_out():
    corpus = toy_corpus(400)
    train = corpus.train
    ignored = train.targets.copy()
    ignored.data = np.ones_like(ignored.data)
    ignored = ignored.multiply((np.arange(400) % 4 == 1)[:, None]).tocsr()
    ignored.eliminate_zeros()
    weights = np.where(np.arange(400) % 4 == 0, 0, 1).astype(np.float32)
    odd = corpus.with_train(Dataset(train.texts, train.targets, weights, ignored))
    fitted(TOYS, odd, {"held_out": 0.5, "fewest": 1, "few_rows": 0})
    held = held_rows(odd.weighed())
    assert len(held) == 100
    assert {row % 4 for row in held} == {2, 3}
    assert {row % 4 for row in Toy.fits[-1][1].train.origin.rows} == {1, 2, 3}


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("registered", [False, True])
def test_copies_of_held_out_rows_are_kept_from_the_parts_and_label_texts_are_not(monkeypatch, registered):
    if registered:
        monkeypatch.setitem(augmenters._found, "swap-two-words", SwapTwoWords)
    corpus = toy_corpus(400)
    texts = tw.LabelSpace(corpus.labels.ids, corpus.labels.names, corpus.labels.ids)
    grown = augment(augment(replace(corpus, labels=texts), SwapTwoWords()), "gandalf")
    fitted(TOYS, grown, {"held_out": 0.25, "fewest": 1, "few_rows": 0})
    held, learnt_on = held_rows(corpus), Toy.fits[-1][1].train
    made = np.array(learnt_on.origin.names())
    assert (made == "gandalf").sum() == LABELS
    copies = set(learnt_on.origin.rows[made == "swap-two-words"].tolist())
    assert copies == set(range(400)) - held
    assert len(held) == 100
    np.testing.assert_array_equal(Toy.fits[-1][1].labels.counts, fitted_counts(corpus, held))


@pytest.mark.usefixtures("few_steps")
def test_where_rows_are_few_the_parts_learn_from_all_in_the_end():
    corpus = toy_corpus(400)
    model = fitted(TOYS, corpus, {"held_out": 0.25, "fewest": 1})
    learnt = [(name, len(rows.train)) for name, rows in Toy.fits]
    parts = TOYS.split("+")
    assert learnt == [(name, rows) for rows in (300, 300, 400) for name in parts]
    np.testing.assert_array_equal(model.counts, corpus.labels.counts)
    # Two folds, each of other rows.
    held_out = model.held_out.rows.origin.rows
    assert (model.seen, len(set(held_out.tolist())), model.held_out.learnt_rows) == (400, 200, 300)
    known = [set(rows.train.origin.rows.tolist()) for _, rows in Toy.fits]
    for fold in (0, 1):
        rows = set(held_out[100 * fold : 100 * (fold + 1)].tolist())
        assert not rows & known[2 * fold]
        assert rows | known[2 * fold] == set(range(400))
    Toy.fits.clear()
    fitted(TOYS, corpus, {"held_out": 0.25, "fewest": 1, "folds": 1})
    assert [len(rows.train) for _, rows in Toy.fits] == [300, 300, 400, 400]
    Toy.fits.clear()
    assert fitted(TOYS, corpus, {"held_out": 0.25, "fewest": 1, "few_rows": 400}).seen == 0
    assert len(Toy.fits) == 2


@pytest.mark.usefixtures("few_steps")
def test_a_part_can_have_label_texts_as_rows_of_its_own():
    corpus = toy_corpus(400)
    texts = tw.LabelSpace(corpus.labels.ids, corpus.labels.names, corpus.labels.ids)
    weights = np.where(np.arange(400) < 200, 0.5, 1).astype(np.float32)
    corpus = replace(corpus, labels=texts).with_train(replace(corpus.train, weights=weights))
    fitted(TOYS, corpus, {"few_rows": 0, "knows_rare": {"label_rows_below": 401}})
    (_, plain), (_, grown) = Toy.fits
    rows = grown.train.take(np.arange(len(plain.train), len(grown.train)))
    assert rows.texts.to_pylist() == corpus.labels.texts.to_pylist()
    np.testing.assert_array_equal(rows.targets.toarray(), np.eye(LABELS))
    np.testing.assert_array_equal(rows.origin.rows, 400 + np.arange(LABELS))
    # Each counts as much as what the rows say of its label.
    pairs = plain.train.targets
    means = (pairs.T @ plain.train.weights) / pairs.sum(axis=0)
    np.testing.assert_allclose(rows.weights, means, rtol=1e-5)
    for asked in ({"label_rows_below": 400}, {}):
        Toy.fits.clear()
        fitted(TOYS, corpus, {"few_rows": 0, "knows_rare": asked})
        assert len(Toy.fits[0][1].train) == len(Toy.fits[1][1].train)


def test_linear_has_more_trees_where_rows_are_few_and_goes_on_with_as_many(monkeypatch):
    corpus = tiny_corpus(rows=60)
    quick = {**QUICK, "linear": {"branching": 2}}
    for few_rows, cheap, trees in ((61, 10**9, 3), (60, 10**9, 1), (61, 1, 1)):
        monkeypatch.setattr("tailwright.models.fusion.model.CHEAP_TREES", cheap)
        model = fitted("linear+twin", corpus, {**quick, "few_rows": few_rows})
        assert len(model.parts[0].forest.trees()) == trees
    monkeypatch.setattr("tailwright.models.fusion.model.CHEAP_TREES", 10**9)
    first = fitted("linear+twin", corpus.with_train(corpus.train.take(range(40))), {**quick, "few_rows": 61})
    more = type(first)(first.settings)
    more.fit_more(first, LaterRows(corpus, (40,)), seed=0)
    assert len(more.parts[0].forest.trees()) == 3


def fitted_counts(corpus: tw.Corpus, held: set[int]) -> np.ndarray:
    kept = [row for row in range(len(corpus.train)) if row not in held]
    return np.bincount(corpus.train.targets[kept].indices, minlength=LABELS)


@pytest.mark.usefixtures("few_steps")
def test_validation_rows_are_learnt_from_where_there_are_any():
    valid = toy_rows(1000, 1100)
    model = fitted(TOYS, toy_corpus(400, valid))
    assert [len(corpus.train) for _, corpus in Toy.fits] == [400, 400]
    assert Toy.questions == [(name, valid.texts.to_pylist()) for name in TOYS.split("+")]
    assert not same(model.combination, plain_combination(2, 32))


@pytest.mark.usefixtures("few_steps")
def test_validation_rows_without_weight_change_nothing():
    valid, more = toy_rows(1000, 1100), toy_rows(2000, 2050)
    weightless = Dataset.concat([more, valid, replace(more, weights=more.weights)])
    weights = np.concatenate([np.zeros(50), np.ones(100), np.zeros(50)]).astype(np.float32)
    one = fitted(TOYS, toy_corpus(400, valid))
    other = fitted(TOYS, toy_corpus(400, replace(weightless, weights=weights)))
    assert same(one.combination, other.combination)


@pytest.mark.usefixtures("few_steps")
def test_rare_labels_count_for_more_when_told_so():
    valid = toy_rows(1000, 1200)
    plainly, stressed = (fitted(TOYS, toy_corpus(400, valid), {"tail": tail}) for tail in (0, 1))
    assert not same(plainly.combination, stressed.combination)


class LooksAtNamed(Toy):
    """Looks at what the others name, and remembers it."""

    card = ModelCard("looks-at-named", "x", ("texts",), scores="log-odds")
    known = (0, LABELS)
    looks_at_named = True
    named: ClassVar[list[np.ndarray]] = []

    def predict_with_named(self, texts, k, named):
        self.named.append(named)
        return self.predict(texts, k)


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("others", ["knows-frequent", TOYS])
def test_a_part_that_looks_at_named_labels_gets_those_of_at_least_two_others(monkeypatch, others):
    monkeypatch.setitem(models._found, "looks-at-named", LooksAtNamed)
    monkeypatch.setattr(LooksAtNamed, "named", [])
    model = fitted(f"looks-at-named+{others}", toy_corpus(400), {"few_rows": 0})
    LooksAtNamed.named.clear()
    Toy.questions.clear()
    texts = toy_rows(500, 510).texts
    model.predict(texts, 3)
    if others != TOYS:
        assert not LooksAtNamed.named
        return
    assert [name for name, _ in Toy.questions] == ["knows-frequent", "knows-rare", "looks-at-named"]
    expected = [part.predict(texts, model.settings.candidates).ids for part in model.parts[1:]]
    np.testing.assert_array_equal(LooksAtNamed.named[0], np.concatenate(expected, axis=1))


def saved(model: Fusion, folder: Path) -> Path:
    with writing(folder, kind="model") as writer:
        model.save(writer)
    return folder


def test_a_folder_brings_back_parts_and_combination(both, tmp_path):
    again = models.get("linear+twin")(both.settings)
    again.load(open_folder(saved(both, tmp_path / "model"), kind="model"), 11)
    assert same(again.combination, both.combination)
    texts = ["apple harbour", "guitar", ""]
    mine, theirs = (model.predict(texts, 20) for model in (both, again))
    np.testing.assert_array_equal(mine.ids, theirs.ids)
    np.testing.assert_array_equal(mine.scores, theirs.scores)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"direct": np.full(12, np.nan, np.float32)}, "found direct of float32, expected finite float32"),
        ({"curve": np.array([np.inf, 0], np.float32)}, "found curve of float32, expected finite float32"),
        ({"deviation": np.zeros(12, np.float32)}, "found deviation of float32"),
        ({"mean": np.zeros(12)}, "found mean of float64, expected finite float32"),
        ({"inner": np.zeros((31, 12), np.float32)}, "inner"),
        ({"outer": np.zeros(33, np.float32)}, "outer"),
        ({"offset": np.zeros((32, 1), np.float32)}, "offset"),
    ],
)
def test_a_damaged_combination_is_one_line(both, tmp_path, change, message):
    damaged = models.get("linear+twin")(both.settings)
    damaged.parts, damaged.counts, damaged.mentions = both.parts, both.counts, both.mentions
    damaged.combination = replace(both.combination, **change)
    with pytest.raises(InputError) as caught:
        damaged.load(open_folder(saved(damaged, tmp_path / "model"), kind="model"), 11)
    assert message in str(caught.value)
    assert str(tmp_path / "model" / "combination.safetensors") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("counts", [np.full(11, -1), np.ones(10, np.int64)])
def test_counts_that_cannot_be_are_one_line(both, tmp_path, counts):
    damaged = models.get("linear+twin")(both.settings)
    damaged.parts, damaged.combination, damaged.counts = both.parts, both.combination, counts
    damaged.mentions = both.mentions
    with pytest.raises(InputError, match="counts"):
        damaged.load(open_folder(saved(damaged, tmp_path / "model"), kind="model"), 11)


@pytest.mark.slow
def test_a_part_that_was_finished_before_a_kill_is_not_trained_again(tmp_path):
    corpus, data = toy_corpus(400), toy_rows(400, 450)
    once = {"held_out": 0.25, "few_rows": 0}  # not again from all rows
    expected = fitted(TOYS, corpus, once).predict(data.texts, 6)
    Toy.fits.clear()
    Toy.dying.add("knows-rare")
    with pytest.raises(KilledError):
        fitted(TOYS, corpus, once, Workplace(tmp_path))
    assert [name for name, _ in Toy.fits] == ["knows-frequent", "knows-rare"]
    Toy.fits.clear()
    Toy.dying.clear()
    model = fitted(TOYS, corpus, once, Workplace(tmp_path, resume=True))
    assert [name for name, _ in Toy.fits] == ["knows-rare"]
    top = model.predict(data.texts, 6)
    np.testing.assert_array_equal(top.ids, expected.ids)
    np.testing.assert_array_equal(top.scores, expected.scores)
    # Not asked to resume, it starts anew.
    Toy.fits.clear()
    fitted(TOYS, corpus, once, Workplace(tmp_path))
    assert [name for name, _ in Toy.fits] == ["knows-frequent", "knows-rare"]


@pytest.mark.parametrize("stop", [1, *(pytest.param(stop, marks=pytest.mark.slow) for stop in (4, 7))])
def test_linear_and_twin_killed_in_twin_end_with_the_same_predictions(both, tmp_path, monkeypatch, stop):
    corpus = tiny_corpus(rows=200)
    checkpoint, done = Workplace.checkpoint, []

    def stopping(self, save, *, now=False):
        checkpoint(self, save, now=True)
        done.append(self.folder.name)
        if done.count("twin") == stop:
            raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(Workplace, "checkpoint", stopping)
        with pytest.raises(KilledError):
            fitted("linear+twin", corpus, QUICK, Workplace(tmp_path))
    model = fitted("linear+twin", corpus, QUICK, Workplace(tmp_path, resume=True))
    events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    started = [event["phase"] for event in events if event["event"] == "start"]
    assert (started.count("linear"), started.count("combination")) == (1, 1)
    assert "resume" in [event["event"] for event in events]
    mine, theirs = (m.predict(corpus.train.texts, 8) for m in (model, both))
    np.testing.assert_array_equal(mine.ids, theirs.ids)
    np.testing.assert_array_equal(mine.scores, theirs.scores)


def test_settings_of_the_parts_are_in_the_run_and_come_back(tmp_path):
    asked = {**QUICK, "candidates": 7, "linear": {"trees": 2, "cost": 0.5}}
    run = tw.train(tiny_corpus(), "linear+twin", settings=asked, out=tmp_path / "run")
    kept = json.loads((tmp_path / "run" / "run.json").read_text())["settings"]
    assert (kept["candidates"], kept["linear"]["trees"], kept["twin"]["width"]) == (7, 2, 16)
    loaded = tw.load(tmp_path / "run")
    assert loaded.model.settings == run.model.settings
    assert [part.settings for part in loaded.model.parts] == [
        run.model.settings.linear,
        run.model.settings.twin,
    ]
    assert loaded.predict(["apple harbour"], k=4) == run.predict(["apple harbour"], k=4)


def test_memory_is_announced_for_the_largest_part_before_the_first_is_trained(tmp_path):
    quick = settings_from(models.settings("linear+twin"), {"twin.width": 16, "few_rows": 0})
    models.get("linear+twin")(quick).fit(tiny_corpus(), work=Workplace(tmp_path))
    events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events[:2]] == ["memory", "start"]
    assert events[1]["phase"] == "linear"
