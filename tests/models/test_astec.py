"""Astec keeps the contract, and does what its page says."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from tailwright.models.astec.settings import AstecSettings, halving_epochs

import tailwright as tw
from tailwright.checks import check_model
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.errors import InputError
from tailwright.evaluation import metrics_at_k
from tailwright.models.astec.model import Astec
from tailwright.settings import settings_from
from tailwright.store import open_folder, writing
from tailwright.training.workplace import Workplace

QUICK = AstecSettings(width=16, batch=32, surrogate_epochs=3, extreme_epochs=3, rerank_epochs=2)
# Enough steps for the classifiers to matter.
TRAINED = replace(
    QUICK,
    width=32,
    surrogate_epochs=10,
    extreme_epochs=20,
    extreme_rate=0.02,
    rerank_epochs=10,
    rerank_rate=0.02,
    raise_rates=1.0,
    beta=1.0,
)


def fitted(corpus: Corpus, settings: AstecSettings = QUICK, work: Workplace | None = None) -> Astec:
    model = Astec(settings)
    model.fit(corpus, seed=1, work=work)
    return model


def events(folder) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def test_astec_keeps_the_contract():
    check_model("astec")


def test_the_classifiers_learn_what_the_shortlists_hold():
    corpus = tiny_corpus()
    found = fitted(corpus, TRAINED).predict(corpus.train.texts, 2)
    assert metrics_at_k(found.ids, corpus.train.targets, None, (1,))["P@1"] > 90


def test_labels_without_rows_are_never_predicted_but_with_a_row_of_gandalf_they_are():
    corpus = tiny_corpus()
    assert 10 not in fitted(corpus).predict(["zeppelin things", *corpus.train.texts.to_pylist()], 11).ids
    more = tw.augment(corpus, "gandalf")
    assert fitted(more).predict(["zeppelin"], 1).ids.tolist() == [[10]]


def test_every_learner_has_clusters_and_weights_of_its_own():
    corpus = tiny_corpus()
    model = fitted(corpus, replace(QUICK, learners=2))
    one, other = model.learners
    assert not np.array_equal(one.first.words, other.first.words)
    # The score of an ensemble is the sum of its learners'.
    alone = [Astec(replace(QUICK, learners=1)) for _ in range(2)]
    for part, learner in zip(alone, model.learners, strict=True):
        part.features, part.rows, part.targets, part.learners = (
            model.features,
            model.rows,
            model.targets,
            [learner],
        )
    sums = np.zeros(len(corpus.labels))
    for part in alone:
        top = part.predict(["apple bridge"], len(corpus.labels))
        sums[top.ids[0][top.ids[0] >= 0]] += top.scores[0][top.ids[0] >= 0]
    together = model.predict(["apple bridge"], 3)
    np.testing.assert_allclose(together.scores[0], np.sort(sums)[::-1][:3], rtol=1e-5)


def test_the_first_learner_does_not_depend_on_how_many_follow():
    corpus = tiny_corpus()
    one, two = (fitted(corpus, replace(QUICK, learners=n)) for n in (1, 2))
    np.testing.assert_array_equal(one.learners[0].first.words, two.learners[0].first.words)


@pytest.mark.parametrize("changed", [{"learners": 2}, {"rerank": False}, {"search": "exact"}])
def test_a_folder_brings_it_back_for_as_many_labels(tmp_path, changed):
    settings = replace(QUICK, **changed)
    model, again = fitted(tiny_corpus(), settings), Astec(settings)
    with writing(tmp_path / "model", kind="model") as folder:
        model.save(folder)
    again.load(open_folder(tmp_path / "model", kind="model"), 11)
    mine, theirs = (m.predict(["apple harbour", "", "nothing known"], 4) for m in (model, again))
    np.testing.assert_array_equal(mine.ids, theirs.ids)
    np.testing.assert_array_equal(mine.scores, theirs.scores)
    with pytest.raises(InputError):
        Astec(settings).load(open_folder(tmp_path / "model", kind="model"), 12)


def test_numbers_that_are_not_finite_are_refused(tmp_path):
    model = fitted(tiny_corpus())
    model.learners[0].first.classifier.table[3, 1] = np.nan
    with writing(tmp_path / "model", kind="model") as folder:
        model.save(folder)
    with pytest.raises(InputError, match=r"first\.safetensors: table of float32, expected finite float32"):
        Astec(QUICK).load(open_folder(tmp_path / "model", kind="model"), 11)


def test_weights_of_training_rows_that_are_not_positive_are_refused(tmp_path):
    model = fitted(tiny_corpus())
    model.targets.data[0] = -1
    with writing(tmp_path / "model", kind="model") as folder:
        model.save(folder)
    with pytest.raises(InputError, match="targets hold a number, expected numbers > 0"):
        Astec(QUICK).load(open_folder(tmp_path / "model", kind="model"), 11)


def test_phases_and_what_lies_between_them_are_logged_in_turn(tmp_path):
    fitted(tiny_corpus(), QUICK, Workplace(tmp_path))
    started = [event["phase"] for event in events(tmp_path) if event["event"] == "start"]
    assert [name.removeprefix("learner-1 ") for name in started] == [
        "features",
        "surrogate",
        "clusters",
        "extreme",
        "shortlists",
        "centroids",
        "vectors",
        "rerank",
        "ranked lists",
    ]
    names = [event["event"] for event in events(tmp_path)]
    assert names.index("memory") < names.index("epoch")


def test_soft_targets_alone_change_the_label_level_loss(tmp_path):
    """With binary clusters, softness reaches the extreme phase alone, and must make a difference there."""
    corpus = tiny_corpus()
    softer = replace(corpus.train, targets=corpus.train.targets * np.float32(0.5))
    settings = replace(QUICK, surrogate_targets="binary", rerank=False)
    hard = fitted(corpus, settings, Workplace(tmp_path / "hard"))
    soft = fitted(corpus.with_train(softer), settings, Workplace(tmp_path / "soft"))
    np.testing.assert_array_equal(hard.learners[0].first.words, soft.learners[0].first.words)
    tables = [model.learners[0].first.classifier.table for model in (hard, soft)]
    assert not np.array_equal(*tables)


def test_without_rows_nothing_is_said():
    corpus = tiny_corpus()
    none = Dataset(arrow_strings([]), corpus.train.targets[:0])
    assert (fitted(Corpus(none, corpus.labels)).predict(["guitar"], 2).ids == -1).all()


def test_labels_need_no_texts():
    corpus = tiny_corpus()
    bare = Corpus(corpus.train, LabelSpace.numbered(len(corpus.labels)))
    found = fitted(bare, TRAINED).predict(corpus.train.texts, 1)
    assert metrics_at_k(found.ids, corpus.train.targets, None, (1,))["P@1"] > 80


@pytest.mark.skipif(find_spec("usearch") is None, reason="usearch is not installed")
def test_a_graph_lists_the_same_labels_as_exact_search_where_there_are_few():
    corpus = tiny_corpus()
    exact, graph = (fitted(corpus, replace(QUICK, search=method)) for method in ("exact", "hnsw"))
    for k in (1, 5):
        found = [model.predict(corpus.train.texts.slice(0, 40), k) for model in (exact, graph)]
        np.testing.assert_allclose(found[0].scores, found[1].scores, rtol=1e-3)


def test_nothing_is_said_of_a_text_without_a_known_word():
    top = fitted(tiny_corpus()).predict(["", "日本語", "apple"], 3)
    assert (top.ids[:2] == -1).all()
    assert (top.ids[2] >= 0).all()


def test_labelmix_reaches_the_phases_that_train_words():
    corpus = tiny_corpus()
    plain = tw.train(corpus, "astec", settings={"width": 16, "rerank": False}, seed=1)
    mixed = tw.train(corpus, "astec", augment=["labelmix"], settings={"width": 16, "rerank": False}, seed=1)
    words = [run.model.learners[0].first.words for run in (plain, mixed)]
    assert not np.array_equal(*words)


@pytest.mark.parametrize(
    ("epochs", "step", "halved"), [(20, 14, [14]), (15, 14, [14]), (15, 10, [10]), (10, 8, [8]), (3, 14, [])]
)
def test_the_rate_is_halved_at_the_papers_epochs(epochs, step, halved):
    assert halving_epochs(epochs, step) == halved
    settings = AstecSettings(surrogate_epochs=epochs, surrogate_halve=step)
    plan = settings.plan("surrogate", {}, rows=10_000)
    batches = -(-10_000 // plan.batch)
    factors = [plan.schedule.factor(step, epochs * batches) for step in range(epochs * batches)]
    expected = [0.5 ** sum(epoch >= at for at in halved) for epoch in range(epochs) for _ in range(batches)]
    assert factors == expected


def test_rates_of_classifiers_grow_where_an_epoch_has_fewer_steps_than_the_papers():
    settings = AstecSettings()
    assert settings.rate("extreme", 294_805) == pytest.approx(0.001, rel=1e-3)
    assert settings.rate("rerank", 3_000_000) == 0.002
    assert settings.rate("rerank", 255 * 400) == pytest.approx(0.002 * 1157 / 400)
    assert settings.rate("extreme", 120) == pytest.approx(0.005)
    assert settings.rate("surrogate", 120) == 0.03
    assert replace(settings, raise_rates=1.0).rate("extreme", 120) == 0.001


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"width": 0}, "width must be >= 1, got 0"),
        ({"extreme_rate": -1.0}, "extreme_rate must be > 0, got -1.0"),
        ({"raise_rates": 0.5}, "raise_rates must be >= 1, got 0.5"),
        ({"beta": 1.5}, r"beta must be in \[0, 1\], got 1.5"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
        ({"candidates": 10}, "candidates must be >= positives=20, got 10"),
        ({"smoothing_restart": 0.0}, r"smoothing_restart must be in \(0, 1\], got 0.0"),
        ({"search": "fast"}, "expected one of auto, exact, hnsw"),
        ({"learner": 3}, "did you mean 'learners'"),
    ],
)
def test_bad_settings_are_named(values, message):
    with pytest.raises(InputError, match=message):
        settings_from(AstecSettings, values)
