"""The weight of added rows: nothing at 0, each row twice at 2."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from toy_augmenter import SwapTwoWords

import tailwright as tw
from tailwright.augmentation import RowSettings
from tailwright.augmentation.gandalf import GandalfSettings
from tailwright.checks.corpora import odd_corpus, tiny_corpus
from tailwright.data import Corpus, Dataset
from tailwright.runs import augment

SOURCES = np.flatnonzero(odd_corpus().train.weights)


def predictions(corpus: Corpus, model: str, **asked: object) -> tuple[np.ndarray, np.ndarray]:
    top = tw.train(corpus, model, **asked).model.predict(tiny_corpus().train.texts, 5)  # type: ignore[arg-type]
    return top.ids, top.scores


@pytest.mark.parametrize(("model", "small"), [("twin", {"width": 8, "epochs": 2}), ("linear", {"trees": 1})])
def test_weight_0_is_to_leave_the_rows_out(model: str, small: dict[str, int]) -> None:
    corpus = tiny_corpus()
    without = predictions(corpus, model, settings=small)
    with_0, with_1 = (
        predictions(
            corpus, model, settings=small, augment=["gandalf"], augment_settings={"gandalf": {"weight": w}}
        )
        for w in (0, 1)
    )
    assert np.array_equal(with_0[0], without[0])
    assert np.array_equal(with_0[1], without[1])
    assert not np.array_equal(with_1[1], without[1])


def test_weight_2_is_to_add_the_rows_twice() -> None:
    corpus = tiny_corpus()
    twice = augment(augment(corpus, "gandalf"), "gandalf")
    doubled = augment(corpus, "gandalf", settings={"weight": 2})
    added = doubled.train.take(np.arange(len(corpus.train), len(doubled.train)))
    # The texts once more, with next to no weight: the features, which have no weights, are then the same.
    silent = replace(added, weights=np.full(len(added), 1e-12))
    doubled = doubled.with_train(Dataset.concat([doubled.train, silent]))
    exact = {"trees": 1, "depth": 1, "tolerance": 1e-4, "prune": 0.0}
    (ids, scores), (other_ids, other_scores) = (
        predictions(source, "linear", settings=exact) for source in (twice, doubled)
    )
    assert np.allclose(scores, other_scores, rtol=1e-3, atol=1e-3)
    assert (ids == other_ids).mean() > 0.99
    once = predictions(augment(corpus, "gandalf"), "linear", settings=exact)
    assert not np.allclose(once[1], scores, rtol=1e-3, atol=1e-3)


def test_the_weight_of_a_new_row_is_that_of_its_source_times_the_setting() -> None:
    corpus = odd_corpus()
    made = augment(corpus, SwapTwoWords(RowSettings(weight=0.5))).train
    assert np.array_equal(made.weights[: len(corpus.train)], corpus.train.weights)
    assert np.array_equal(made.weights[len(corpus.train) :], corpus.train.weights[SOURCES] / 2)


@pytest.mark.parametrize("method", ["gandalf", "wordnet", SwapTwoWords()], ids=["gandalf", "wordnet", "own"])
def test_nothing_is_made_of_rows_of_weight_0(method: str | SwapTwoWords) -> None:
    corpus = tiny_corpus()
    weights = np.where(np.arange(len(corpus.train)) % 3 == 0, 0, 1).astype(np.float32)
    silenced = corpus.with_train(replace(corpus.train, weights=weights))
    grown = augment(silenced, method)
    expected = augment(corpus.with_train(corpus.train.take(np.flatnonzero(weights))), method)
    rows, kept = len(corpus.train), int(weights.sum())
    assert grown.train.take(np.arange(rows)).same_as(silenced.train)
    new, wanted = (
        whole.train.take(np.arange(first, len(whole.train)))
        for whole, first in ((grown, rows), (expected, kept))
    )
    assert len(new) > 0
    assert new.same_as(wanted)


@pytest.mark.parametrize("kind", [RowSettings, GandalfSettings])
@pytest.mark.parametrize("weight", [-0.1, float("inf"), float("nan")])
def test_a_wrong_weight_is_named(kind: type, weight: float) -> None:
    with pytest.raises(ValueError, match=rf"weight must be in \[0, 1000000\], got {weight}"):
        kind(weight=weight)
