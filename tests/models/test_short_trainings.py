"""What trainings of a second show of models whose `check_model` takes long: `make test-slow` runs that."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import tailwright as tw
from tailwright.checks.corpora import odd_corpus, tiny_corpus
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.pairs import pairs_from_lists
from tailwright.evaluation.ranking import TopK
from tailwright.runs import Run

PHASES = {"width": 8, "surrogate.epochs": 1, "meta.epochs": 1, "extreme.epochs": 1}
INCEPTION = {"width": 64, "channels": 4, "max_length": 8, "labels_each": 2, "top_clusters": 2}
ENCODED = {"epochs": 1, "batch": 16, "rate": 3e-3, "head_rate": 3e-2}
SHORT = {
    "decaf": PHASES,
    "eclare": PHASES,
    "inceptionxml": {**INCEPTION, "epochs": 2, "meta_epochs": 1},
    "inceptionxml-lf": {**INCEPTION, "epochs": 1, "free_epochs": 1},
    "la-roberta": ENCODED,
    "roberta": ENCODED,
}
CORPUS = tiny_corpus(48)
TEXTS = CORPUS.train.texts


@pytest.fixture(scope="module", params=SHORT)
def trained(request, tiny_reader):
    """Trains one of these models on a corpus."""
    name = request.param
    on = {"encoder": tiny_reader} if "roberta" in name else {}
    return partial(tw.train, model=name, settings={**SHORT[name], **on}, seed=1)


@pytest.fixture(scope="module")
def plain(trained, tmp_path_factory) -> tuple[Run, Path]:
    folder = tmp_path_factory.mktemp("short") / "run"
    return trained(CORPUS, out=folder), folder


def same(one: TopK, other: TopK) -> bool:
    return np.array_equal(one.ids, other.ids) and np.array_equal(one.scores, other.scores)


def test_labels_are_ranked_best_first_as_they_are_after_loading(plain):
    run, folder = plain
    top = run.model.predict(TEXTS, 5)
    assert top.ids.shape == (len(TEXTS), 5)
    for ids, scores in zip(top.ids, top.scores, strict=True):
        named = ids >= 0
        assert named[0]
        assert len(set(ids[named])) == named.sum()
        assert (np.diff(scores[named]) <= 0).all()
        assert np.isfinite(scores[named]).all()
    assert same(tw.load(folder).model.predict(TEXTS, 5), top)
    alone = run.model.predict(TEXTS.slice(7, 1), 5)
    np.testing.assert_allclose(alone.scores, top.scores[[7]], rtol=1e-4, atol=1e-5)


def halved(train: Dataset) -> Dataset:
    targets = train.targets.copy()
    targets.data = np.full_like(targets.data, 0.5)
    return replace(train, targets=targets)


def weighed(train: Dataset) -> Dataset:
    return replace(train, weights=np.where(np.arange(len(train)) % 2, np.float32(0.25), np.float32(1)))


def masked(train: Dataset) -> Dataset:
    return replace(train, ignored=pairs_from_lists([[0]] * len(train), train.labels))


def test_the_seed_decides_and_targets_weights_and_ignored_pairs_matter(trained, plain):
    def learnt(train: Dataset) -> TopK:
        return trained(CORPUS.with_train(train)).model.predict(TEXTS, 5)

    top = plain[0].model.predict(TEXTS, 5)
    assert same(learnt(CORPUS.train), top)
    for change in (halved, weighed, masked):
        assert not same(learnt(change(CORPUS.train)), top), change.__name__


def test_odd_rows_are_learnt_from_and_unknown_texts_are_answered(trained):
    odd: Corpus = odd_corpus()
    top = trained(odd).model.predict([*odd.train.texts.to_pylist(), "zzyzx qwv", "🎉"], 3)
    assert np.isfinite(top.scores[top.ids >= 0]).all()
    assert (top.ids < len(odd.labels)).all()
