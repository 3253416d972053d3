"""Astec does what its page says."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.errors import InputError
from tailwright.evaluation import metrics_at_k
from tailwright.models.astec import AstecSettings
from tailwright.models.astec.model import Astec, AstecLearner
from tailwright.runs.ensemble import Ensemble
from tailwright.settings import settings_from
from tailwright.store import open_folder, writing
from tailwright.training.workplace import Workplace

SMALL = {"width": 16, "batch": 32, "surrogate.epochs": 3, "extreme.epochs": 3, "rerank.epochs": 2}
QUICK = settings_from(AstecSettings, SMALL)
# Enough steps for the classifiers to matter.
TRAINED = settings_from(
    AstecSettings,
    {
        "width": 32,
        "batch": 32,
        "surrogate.epochs": 10,
        "extreme": {"epochs": 20, "rate": 0.02, "raised": 1.0},
        "rerank": {"epochs": 10, "rate": 0.02, "raised": 1.0},
        "beta": 1.0,
    },
)


def fitted(corpus: Corpus, settings: AstecSettings = QUICK, work: Workplace | None = None) -> Astec:
    model = Astec(settings)
    model.fit(corpus, seed=1, work=work)
    return model


def words_of(learner: AstecLearner) -> np.ndarray:
    return learner.network.encoder.words.table.array


def events(folder) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def test_the_classifiers_learn_what_the_shortlists_hold():
    corpus = tiny_corpus()
    top = fitted(corpus, TRAINED).predict(corpus.train.texts, 2)
    assert metrics_at_k(top.ids, corpus.train.targets, None, (1,))["P@1"] > 90


def test_labels_without_rows_are_never_predicted_but_with_a_row_of_gandalf_they_are():
    corpus = tiny_corpus()
    assert 10 not in fitted(corpus).predict(["zeppelin things", *corpus.train.texts.to_pylist()], 11).ids
    more = tw.augment(corpus, "gandalf")
    assert fitted(more).predict(["zeppelin"], 1).ids.tolist() == [[10]]


def test_every_learner_has_clusters_and_weights_of_its_own():
    corpus = tiny_corpus()
    model = fitted(corpus, replace(QUICK, learners=2))
    one, other = model.learners
    assert not np.array_equal(words_of(one), words_of(other))
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
    np.testing.assert_array_equal(words_of(one.learners[0]), words_of(two.learners[0]))


@pytest.mark.parametrize("changed", [{"learners": 2}, {"rerank.epochs": 0}, {"search": "exact"}])
def test_a_folder_brings_it_back_for_as_many_labels(tmp_path, changed):
    settings = settings_from(AstecSettings, {**SMALL, **changed})
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
    model.learners[0].network.extreme.head.table.array[3, 1] = np.nan
    with writing(tmp_path / "model", kind="model") as folder:
        model.save(folder)
    message = r"learner-1\.safetensors: extreme\.head\.table\.weight of float32, expected finite float32"
    with pytest.raises(InputError, match=message):
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
    settings = settings_from(AstecSettings, {**SMALL, "clusters.targets": "binary", "rerank.epochs": 0})
    hard = fitted(corpus, settings, Workplace(tmp_path / "hard"))
    soft = fitted(corpus.with_train(softer), settings, Workplace(tmp_path / "soft"))
    np.testing.assert_array_equal(words_of(hard.learners[0]), words_of(soft.learners[0]))
    tables = [model.learners[0].network.extreme.head.table.array for model in (hard, soft)]
    assert not np.array_equal(*tables)


def test_without_rows_nothing_is_said():
    corpus = tiny_corpus()
    none = Dataset(arrow_strings([]), corpus.train.targets[:0])
    assert (fitted(Corpus(none, corpus.labels)).predict(["guitar"], 2).ids == -1).all()


def test_labels_need_no_texts():
    corpus = tiny_corpus()
    bare = Corpus(corpus.train, LabelSpace.numbered(len(corpus.labels)))
    top = fitted(bare, TRAINED).predict(corpus.train.texts, 1)
    assert metrics_at_k(top.ids, corpus.train.targets, None, (1,))["P@1"] > 80


@pytest.mark.skipif(find_spec("usearch") is None, reason="usearch is not installed")
def test_a_graph_lists_the_same_labels_as_exact_search_where_there_are_few():
    corpus = tiny_corpus()
    exact, graph = (
        fitted(corpus, settings_from(AstecSettings, {**SMALL, "search": method}))
        for method in ("exact", "hnsw")
    )
    for k in (1, 5):
        tops = [model.predict(corpus.train.texts.slice(0, 40), k) for model in (exact, graph)]
        np.testing.assert_allclose(tops[0].scores, tops[1].scores, rtol=1e-3)


def test_nothing_is_said_of_a_text_without_a_known_word():
    top = fitted(tiny_corpus()).predict(["", "日本語", "apple"], 3)
    assert (top.ids[:2] == -1).all()
    assert (top.ids[2] >= 0).all()


def test_labelmix_reaches_the_phases_that_train_words():
    corpus = tiny_corpus()
    settings = {"width": 16, "rerank.epochs": 0}
    plain = tw.train(corpus, "astec", settings=settings, seed=1)
    mixed = tw.train(corpus, "astec", augment=["labelmix"], settings=settings, seed=1)
    assert not np.array_equal(*(words_of(run.model.learners[0]) for run in (plain, mixed)))


def excluding(corpus: Corpus, label: int) -> Dataset:
    """The training rows, from which that label is excluded wherever it is not theirs."""
    pairs = (corpus.train.targets[:, [label]].toarray().ravel() == 0).astype(np.float32)
    excluded = sparse.csr_array((len(pairs), len(corpus.labels)), dtype=np.float32).tolil()
    excluded[np.flatnonzero(pairs), label] = 1
    return replace(corpus.train, excluded=excluded.tocsr())


def test_scores_are_fused_after_excluded_pairs_have_left_the_lists():
    corpus = tiny_corpus()
    model, rows = fitted(corpus, replace(QUICK, learners=2, beta=0.5)), excluding(corpus, 0)
    all_labels = model.predict(rows.texts, 11)
    barred, top = rows.excluded.toarray() > 0, model.predict_besides(rows.texts, 11, rows.excluded)
    named = np.zeros(barred.shape, dtype=bool)
    for row, ids in enumerate(top.ids):
        named[row, ids[ids >= 0]] = True
    assert not (named & barred).any()
    # Where an excluded label was the largest, the others' scores are divided by a smaller one now.
    was_best = barred[np.arange(len(rows)), all_labels.ids[:, 0]]
    assert was_best.any()
    for row in np.flatnonzero(was_best):
        before = dict(zip(all_labels.ids[row].tolist(), all_labels.scores[row].tolist(), strict=True))
        scores = [
            (before[label], score)
            for label, score in zip(top.ids[row], top.scores[row], strict=True)
            if label >= 0
        ]
        assert scores[0][1] > scores[0][0]
    # Rows without excluded pairs are as they were.
    free = ~barred.any(axis=1)
    assert free.any()
    np.testing.assert_array_equal(top.ids[free], all_labels.ids[free])
    np.testing.assert_array_equal(top.scores[free], all_labels.scores[free])


def test_evaluation_and_watching_take_excluded_pairs_out_before_scores_are_fused(tmp_path):
    corpus = tiny_corpus()
    rows, settings = excluding(corpus, 0), {**SMALL, "beta": 0.5}
    run = tw.train(corpus, "astec", settings=settings, seed=1, watch={"rows": rows}, out=tmp_path / "run")
    top = run.model.predict_besides(rows.texts, 11, rows.excluded)
    expected = metrics_at_k(top.ids, rows.targets, None, (1,))["P@1"]
    assert tw.evaluate(run, rows, ks=(1,))["P@1"] == expected
    assert tw.evaluate(Ensemble((run,)), rows, ks=(1,))["P@1"] == expected
    watched = [event["watched"]["rows"] for event in events(tmp_path / "run") if "watched" in event]
    assert watched[-1] == expected


def test_rates_of_classifiers_grow_where_there_are_few_rows_but_not_that_of_the_surrogate_task():
    """At the paper's 1,157 steps an epoch they are the paper's; the surrogate's rate is high as it is."""
    settings = AstecSettings()
    assert [phase.rate for phase in (settings.surrogate, settings.extreme, settings.rerank)] == [
        0.03,
        0.001,
        0.002,
    ]
    assert settings.surrogate.rate_for(120, 32) == 0.03
    assert settings.extreme.rate_for(120, 32) == pytest.approx(0.005)
    assert settings.rerank.rate_for(120, 32) == pytest.approx(0.01)


def test_the_papers_number_of_clusters_can_be_asked_for(monkeypatch):
    """A power of two that leaves each cluster some labels; with fewer labels each there are more clusters."""
    counts = []
    monkeypatch.setattr(
        "tailwright.models.astec.model.AstecNetwork.__init__",
        lambda self, vectors, clusters, *others: counts.append(clusters) or 1 / 0,
    )
    for labels_each in (2.5, 2.0, 1.0):  # 10 labels have rows
        with pytest.raises(ZeroDivisionError):
            fitted(tiny_corpus(), settings_from(AstecSettings, {**SMALL, "labels_each": labels_each}))
    assert counts == [4, 4, 8]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"width": 0}, "width must be in \\[1, 65536\\], got 0"),
        ({"extreme.rate": -1.0}, "rate must be in \\(0, 1000\\], got -1.0"),
        ({"rerank.raised": 0.5}, "raised must be in \\[1, 1000000\\], got 0.5"),
        ({"beta": 1.5}, r"beta must be in \[0, 1\], got 1.5"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
        ({"candidates.size": 10}, "size must be >= positives=20, got 10"),
        ({"restart": 0.0}, r"restart must be in \(0, 1\], got 0.0"),
        ({"rerank.weight": -0.1}, r"weight must be in \[0, 1\], got -0.1"),
        ({"clusters.smoothing.head_cut": 0}, "head_cut must be >= 1, got 0"),
        ({"labels_each": 0.5}, "labels_each must be >= 1, got 0.5"),
        ({"epochs": 3}, r"epochs is one of several, expected surrogate\.epochs or extreme\.epochs or rerank"),
        ({"search": "fast"}, "expected one of auto, exact, hnsw"),
        ({"learner": 3}, "did you mean 'learners'"),
    ],
)
def test_bad_settings_are_named(values, message):
    with pytest.raises(InputError, match=message):
        settings_from(AstecSettings, values)
