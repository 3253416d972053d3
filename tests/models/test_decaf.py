"""Decaf keeps the contract, and does what its page says."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from fault_parts.damage import Damage, do
from stopped_fits import stopped_after

import tailwright as tw
from tailwright.augmentation.labelmix import LabelMix
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.encoders.bags import Bags
from tailwright.errors import InputError
from tailwright.evaluation import metrics_at_k
from tailwright.models.decaf import DecafSettings
from tailwright.models.decaf.model import Decaf
from tailwright.models.decaf.network import DecafClassifier, TextClassifier
from tailwright.settings import settings_from
from tailwright.store import open_folder, writing
from tailwright.streams import stream
from tailwright.training.schedules import halving_epochs
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

SMALL = {"width": 8, "batch": 32, "surrogate.epochs": 1, "meta.epochs": 1, "extreme.epochs": 1}
QUICK = settings_from(DecafSettings, SMALL)
# Enough steps for the classifiers of labels.
TRAINED = settings_from(DecafSettings, {"width": 32, "batch": 32, "extreme.raised": 10.0})


def fitted(corpus: Corpus, settings: DecafSettings = QUICK, work: Workplace | None = None) -> Decaf:
    model = Decaf(settings)
    model.fit(corpus, seed=1, work=work)
    return model


def changed(**values) -> DecafSettings:
    return settings_from(DecafSettings, {**SMALL, **values})


def events(folder) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def vectors(rows: int, width: int = 4) -> np.ndarray:
    return stream(0, "vectors").standard_normal((rows, width), dtype=np.float32)


TEXTS = Bags(np.array([0, 2, 2]), np.array([0, 3], dtype=np.int32), np.array([0.6, 0.8], dtype=np.float32))


def test_free_vectors_start_at_the_sums_of_the_words_of_labels():
    classifier = DecafClassifier(np.zeros((5, 4), dtype=np.float32), 2, 0.2, 0, "decaf")
    classifier.free.array[:] = 7
    words = vectors(5)
    classifier.start(words, TEXTS)
    np.testing.assert_array_equal(classifier.texts.words.table.array, words)
    np.testing.assert_allclose(classifier.free.array[0, :-1], 0.6 * words[0] + 0.8 * words[3], rtol=1e-6)
    assert not classifier.free.array[1].any()
    assert not classifier.free.array[:, -1].any()


def test_new_gates_count_the_text_and_the_free_vector_half():
    classifier = DecafClassifier(vectors(5), 2, 0.0, 0, "decaf").eval()
    classifier.free.array[:, :] = vectors(2, 5)
    text = TEXTS.sum(classifier.texts.words.table.array)
    of_text = (np.maximum(text, 0) + text) / 2
    expected = np.concatenate([(classifier.free.array[:, :4] + of_text) / 2, classifier.free.array[:, 4:]], 1)
    np.testing.assert_allclose(classifier.table(TEXTS), expected, rtol=1e-5)


def test_the_vectors_of_a_step_are_those_of_the_table():
    classifier = DecafClassifier(vectors(5), 2, 0.0, 0, "decaf").eval()
    classifier.start(vectors(5), TEXTS)
    ids = np.array([1, 0], dtype=np.int32)
    queries, table = classifier(TEXTS, TEXTS.take(ids), ids)
    assert queries.shape == (2, 5)
    torch.testing.assert_close(queries[:, -1], torch.ones(2))
    np.testing.assert_allclose(table.detach().numpy(), classifier.table(TEXTS)[ids], rtol=1e-5)


def test_a_cluster_without_a_text_has_a_free_vector_in_the_surrogate_task():
    classifier = TextClassifier(vectors(5), 2, 0.0, 0, "decaf", free=True).eval()
    classifier.free.array[:] = 3
    _, table = classifier(TEXTS, TEXTS)
    text = TEXTS.sum(vectors(5))[0]
    np.testing.assert_allclose(table[0].detach().numpy(), (np.maximum(text, 0) + text) / 2, rtol=1e-5)
    np.testing.assert_allclose(table[1].detach().numpy(), [3, 3, 3, 3])


def test_it_learns_the_labels_of_its_rows():
    corpus = tiny_corpus()
    top = fitted(corpus, TRAINED).predict(corpus.train.texts, 1)
    assert metrics_at_k(top.ids, corpus.train.targets, None, (1,))["P@1"] > 80


def test_labels_without_rows_are_scored_by_their_texts():
    assert 10 in fitted(tiny_corpus()).predict(["zeppelin"], 11).ids


def test_an_ensemble_is_the_mean_of_the_probabilities_of_its_learners():
    corpus = tiny_corpus()
    model = fitted(corpus, changed(learners=2))
    together, sums = model.predict(["apple bridge"], 3), np.zeros(len(corpus.labels))
    learners = model.learners
    for learner in learners:
        model.learners = [learner]
        top = model.predict(["apple bridge"], len(corpus.labels))
        sums[top.ids[0][top.ids[0] >= 0]] += top.scores[0][top.ids[0] >= 0]
    np.testing.assert_allclose(together.scores[0], np.sort(sums)[::-1][:3] / 2, rtol=1e-5)
    words = [learner.meta.words.table.array for learner in learners]
    assert not np.array_equal(*words)


def test_a_folder_brings_it_back_for_as_many_labels(tmp_path):
    settings = changed(learners=2)
    model, again = fitted(tiny_corpus(), settings), Decaf(settings)
    with writing(tmp_path / "model", kind="model") as folder:
        model.save(folder)
    again.load(open_folder(tmp_path / "model", kind="model"), 11)
    mine, theirs = (m.predict(["apple harbour", "", "nothing known"], 4) for m in (model, again))
    np.testing.assert_array_equal(mine.ids, theirs.ids)
    np.testing.assert_array_equal(mine.scores, theirs.scores)
    with pytest.raises(InputError):
        Decaf(settings).load(open_folder(tmp_path / "model", kind="model"), 12)


def test_more_clusters_than_the_weights_can_have_are_refused_before_there_is_a_table(tmp_path):
    model = fitted(tiny_corpus())
    with writing(tmp_path / "model", kind="model") as folder:
        model.save(folder)
    do(Damage("learners.json", "many", b'{"clusters": [1000000000000]}'), tmp_path / "model")
    with pytest.raises(InputError, match=r"learners\.json: clusters, expected a number for each learner"):
        Decaf(QUICK).load(open_folder(tmp_path / "model", kind="model"), 11)


def test_a_cluster_that_is_not_there_is_refused(tmp_path):
    model = fitted(tiny_corpus())
    model.learners[0].head.cluster_of[3] = 99
    with writing(tmp_path / "model", kind="model") as folder:
        model.save(folder)
    with pytest.raises(InputError, match=r"learner-1-clusters\.npy: a cluster, expected -1 to 1"):
        Decaf(QUICK).load(open_folder(tmp_path / "model", kind="model"), 11)


def test_phases_are_logged_in_turn_and_how_many_positives_are_reached(tmp_path):
    fitted(tiny_corpus(), QUICK, Workplace(tmp_path))
    logged = events(tmp_path)
    started = [event["phase"].removeprefix("learner-1 ") for event in logged if event["event"] == "start"]
    assert started == [
        "features",
        *("surrogate", "surrogate clusters"),
        *("meta", "clusters"),
        *("extreme", "candidates", "beams"),
    ]
    (reach,) = [event for event in logged if event["event"] == "reach"]
    assert reach["reached"] == 100.0


def test_positives_that_the_beam_misses_give_no_loss_unless_they_are_added(tmp_path):
    corpus, losses = tiny_corpus(), []
    for missed in ("left out", "added"):
        settings = changed(**{"beam.size": 1, "clusters.labels_each": 1.0, "beam.missed": missed})
        fitted(corpus, settings, Workplace(tmp_path / missed))
        logged = events(tmp_path / missed)
        losses.append([event["loss"] for event in logged if event["event"] == "epoch"])
        (reach,) = [event["reached"] for event in logged if event["event"] == "reach"]
        assert reach < 100 if missed == "left out" else reach == 100
    assert losses[0][:2] == losses[1][:2]
    assert losses[0][2] != losses[1][2]


@pytest.mark.parametrize(("soft", "same"), [("soft", False), ("binary", True)])
def test_soft_targets_reach_the_label_level_loss_unless_targets_are_binary(soft, same):
    corpus = tiny_corpus()
    softer = replace(corpus.train, targets=corpus.train.targets * np.float32(0.5))
    settings = changed(**{"clusters.targets": "binary", "beam.targets": soft})
    hard, mild = (fitted(c, settings).learners[0].head for c in (corpus, corpus.with_train(softer)))
    np.testing.assert_array_equal(hard.clusters.table.array, mild.clusters.table.array)
    assert np.array_equal(hard.labels.table.array, mild.labels.table.array) == same


def test_labelmix_reaches_every_phase():
    corpus, tables = tiny_corpus(), []
    for mixes in ([], [LabelMix()]):
        model = Decaf(QUICK)
        model.mixes = mixes
        model.fit(corpus, seed=1)
        tables.append(
            [tower.words.table.array for tower in (model.learners[0].meta, model.learners[0].extreme)]
        )
    for plain, mixed in zip(*tables, strict=True):
        assert not np.array_equal(plain, mixed)


def test_rows_of_gandalf_count_in_the_log_by_themselves(tmp_path):
    fitted(tw.augment(tiny_corpus(), "gandalf"), QUICK, Workplace(tmp_path))
    (reach,) = [event for event in events(tmp_path) if event["event"] == "reach"]
    assert reach["made"] == 100.0


def test_labels_need_no_texts():
    corpus = tiny_corpus()
    bare = Corpus(corpus.train, LabelSpace.numbered(len(corpus.labels)))
    top = fitted(bare, TRAINED).predict(corpus.train.texts, 1)
    assert metrics_at_k(top.ids, corpus.train.targets, None, (1,))["P@1"] > 60


def test_without_rows_labels_are_still_scored_by_their_texts():
    corpus = tiny_corpus()
    none = Dataset(arrow_strings([]), corpus.train.targets[:0])
    assert fitted(Corpus(none, corpus.labels)).predict(["guitar"], 2).ids.shape == (1, 2)


@pytest.mark.parametrize("stop", [4, 6, 11, 14])
def test_stopped_in_any_phase_it_ends_with_the_same_weights(tmp_path, stop):
    """Epochs have 4 steps each; the extreme phase, which needs what lies between phases, has two."""

    def learnt(folder, *, resume: bool = False) -> list[bytes]:
        model = Decaf(changed(**{"extreme.epochs": 2}))
        model.mixes = [LabelMix()]
        model.fit(tiny_corpus(), seed=3, work=Workplace(folder, resume=resume, checkpoint_seconds=0))
        return [array.tobytes() for array in weights_of(model.learners[0]).values()]

    with stopped_after(stop):
        learnt(tmp_path / "stopped")
    assert learnt(tmp_path / "stopped", resume=True) == learnt(None)


def test_rates_are_halved_as_in_the_paper():
    settings = DecafSettings()
    halved = [
        halving_epochs(phase.epochs, phase.halve)
        for phase in (settings.surrogate, settings.meta, settings.extreme)
    ]
    assert halved == [[10, 15], [5], [5]]
