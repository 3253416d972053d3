"""What a fusion's parts and combination learn from: which rows are held out, and what parts get to see."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from toy_augmenter import SwapTwoWords

import tailwright as tw
from tailwright.augmentation import augmenters
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.dataset import Dataset
from tailwright.models import LaterRows, ModelCard, models
from tailwright.models.fusion.combination import plain_combination
from tailwright.runs import augment

sys.path.insert(0, str(Path(__file__).parent))
from tiny_fusions import QUICK, TOYS, fitted, in_one_thread, name_toys, same
from toy_parts import LABELS, Toy, toy_corpus, toy_rows


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    with in_one_thread():
        yield


@pytest.fixture(autouse=True)
def toys(monkeypatch) -> None:
    name_toys(monkeypatch)


@pytest.fixture
def few_steps(monkeypatch) -> None:
    """For tests of what a combination learns from, not of what it learns."""
    monkeypatch.setattr("tailwright.models.fusion.learning.STEPS", 20)


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
def test_the_last_fold_can_hold_out_the_last_rows():
    asked = {"held_out": 0.25, "fewest": 1, "last_fold": "last"}
    held_out = fitted(TOYS, toy_corpus(400), asked).held_out.rows.origin.rows
    assert sorted(held_out[100:].tolist()) == list(range(300, 400))
    assert max(held_out[:100]) < 300
    assert sorted(held_out[:100].tolist()) != list(range(200, 300))
    # A single one has the last rows; with many rows there are no folds.
    held_out = fitted(TOYS, toy_corpus(400), {**asked, "folds": 1}).held_out.rows.origin.rows
    assert sorted(held_out.tolist()) == list(range(300, 400))
    held_out = fitted(TOYS, toy_corpus(400), {**asked, "few_rows": 0}).held_out.rows.origin.rows
    assert sorted(held_out.tolist()) != list(range(300, 400))


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
