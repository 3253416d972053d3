"""Eclare keeps the contract, and does what its page says."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from scipy import sparse
from stopped_fits import stopped_after

import tailwright as tw
from tailwright.augmentation.labelmix import LabelMix
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.encoders.bags import Bags
from tailwright.encoders.embedding_bags import EmbeddingBags
from tailwright.errors import InputError
from tailwright.evaluation import metrics_at_k
from tailwright.models.eclare import EclareSettings
from tailwright.models.eclare.model import Eclare
from tailwright.models.eclare.network import EclareClassifier
from tailwright.models.eclare.phases import LearnerTraining
from tailwright.settings import settings_from
from tailwright.store import open_folder, writing
from tailwright.streams import stream
from tailwright.training.schedules import halving_epochs
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

SMALL = {"width": 8, "batch": 32, "surrogate.epochs": 1, "meta.epochs": 1, "extreme.epochs": 1}
QUICK = settings_from(EclareSettings, SMALL)
# Enough steps for the classifiers of labels.
TRAINED = settings_from(
    EclareSettings,
    {"width": 32, "batch": 32, "extreme": {"epochs": 30, "rate": 0.03, "halve": 30, "raised": 1.0}},
)


def fitted(corpus: Corpus, settings: EclareSettings = QUICK, work: Workplace | None = None) -> Eclare:
    model = Eclare(settings)
    model.fit(corpus, seed=1, work=work)
    return model


def changed(**values) -> EclareSettings:
    return settings_from(EclareSettings, {**SMALL, **values})


def events(folder) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def vectors(name: str, rows: int, width: int = 4) -> np.ndarray:
    return stream(0, name).standard_normal((rows, width), dtype=np.float32)


def test_free_vectors_start_at_the_graph_times_the_texts_times_the_words(monkeypatch):
    """Row l of G Z E, with the graph and the words as they are when the phase begins."""
    begun, begin = [], LearnerTraining.begin_extreme

    def looking(self) -> None:
        begin(self)
        words = self.surrogate.texts.words.table.array
        expected = self.sums().graph @ self.rows.label_matrix @ words
        np.testing.assert_allclose(self.network.extreme.free.array, expected, rtol=1e-4, atol=1e-5)
        begun.append(expected.shape)

    monkeypatch.setattr(LearnerTraining, "begin_extreme", looking)
    fitted(tiny_corpus())
    assert begun == [(11, 8)]


def test_the_vectors_of_a_step_are_those_of_the_table_and_have_no_bias():
    classifier = EclareClassifier(EmbeddingBags(vectors("words", 5)), 3, 0.0, 0, "eclare").eval()
    own, near = vectors("own", 3), vectors("near", 3)
    classifier.start(near)
    np.testing.assert_array_equal(classifier.free.array, near)
    ids = np.array([2, 0], dtype=np.int32)
    texts = Bags(np.array([0, 1]), np.array([3], dtype=np.int32), np.ones(1, dtype=np.float32))
    queries, table = classifier(texts, own[ids], near[ids], ids)
    assert queries.shape == (1, 4)
    whole = classifier.table(own, near)
    assert not whole[:, -1].any()
    torch.testing.assert_close(table, torch.from_numpy(whole[ids, :-1]))


def test_it_learns_the_labels_of_its_rows():
    corpus = tiny_corpus()
    top = fitted(corpus, TRAINED).predict(corpus.train.texts, 1)
    assert metrics_at_k(top.ids, corpus.train.targets, None, (1,))["P@1"] > 80


def test_labels_without_rows_are_scored_by_their_texts():
    assert 10 in fitted(tiny_corpus()).predict(["zeppelin"], 11).ids


def test_words_are_learnt_by_the_surrogate_task_alone():
    corpus, words = tiny_corpus(), []
    for epochs in (1, 2):
        model = fitted(corpus, changed(**{"meta.epochs": epochs, "extreme.epochs": epochs}))
        learner = model.learners[0]
        assert learner.meta.words is learner.extreme.words
        words.append(learner.meta.words.table.array)
    np.testing.assert_array_equal(*words)


def test_a_batch_augmentation_reaches_the_surrogate_task_and_the_log_says_so(tmp_path):
    model = Eclare(QUICK)
    model.mixes = [LabelMix()]
    model.fit(tiny_corpus(), seed=1, work=Workplace(tmp_path))
    plain = fitted(tiny_corpus())
    assert not np.array_equal(*(m.learners[0].meta.words.table.array for m in (model, plain)))
    (event,) = [event for event in events(tmp_path) if event["event"] == "batch door"]
    assert event["phases"] == ["surrogate"]


def test_the_graph_comes_from_original_rows_alone():
    corpus = tiny_corpus()
    graphs = [
        fitted(c, changed(similar=-1.0)).learners[0].of_labels
        for c in (corpus, tw.augment(corpus, "gandalf"))
    ]
    np.testing.assert_array_equal(*(graph.toarray() for graph in graphs))


def test_frequent_labels_have_clusters_of_their_own():
    corpus = tiny_corpus()
    frequent = corpus.labels.counts > 20
    assert frequent.any()
    assert not frequent.all()
    cluster_of = fitted(corpus, changed(**{"clusters.apart": 20})).learners[0].head.cluster_of
    assert set(cluster_of[frequent]).isdisjoint(cluster_of[~frequent])


def test_a_folder_brings_it_back_for_as_many_labels(tmp_path):
    settings = changed(learners=2)
    model, again = fitted(tiny_corpus(), settings), Eclare(settings)
    with writing(tmp_path / "model", kind="model") as folder:
        model.save(folder)
    again.load(open_folder(tmp_path / "model", kind="model"), 11)
    mine, theirs = (m.predict(["apple harbour", "", "nothing known"], 4) for m in (model, again))
    np.testing.assert_array_equal(mine.ids, theirs.ids)
    np.testing.assert_array_equal(mine.scores, theirs.scores)
    with pytest.raises(InputError):
        Eclare(settings).load(open_folder(tmp_path / "model", kind="model"), 12)


def test_a_graph_of_negative_numbers_is_refused(tmp_path):
    model = fitted(tiny_corpus())
    model.learners[0].of_labels = -sparse.eye_array(11, format="csr", dtype=np.float32)
    with writing(tmp_path / "model", kind="model") as folder:
        model.save(folder)
    with pytest.raises(InputError, match="learner-1-label-graph holds a number, expected numbers >= 0"):
        Eclare(QUICK).load(open_folder(tmp_path / "model", kind="model"), 11)


def test_labels_need_no_texts():
    corpus = tiny_corpus()
    bare = Corpus(corpus.train, LabelSpace.numbered(len(corpus.labels)))
    top = fitted(bare, TRAINED).predict(corpus.train.texts, 1)
    assert metrics_at_k(top.ids, corpus.train.targets, None, (1,))["P@1"] > 60


@pytest.mark.parametrize("stop", [4, 6, 11, 14])
def test_stopped_in_any_phase_it_ends_with_the_same_weights(tmp_path, stop):
    """Epochs have 4 steps each; the extreme phase, which needs what lies between phases, has two."""

    def learnt(folder, *, resume: bool = False) -> list[bytes]:
        model = Eclare(changed(**{"extreme.epochs": 2}))
        model.fit(tiny_corpus(), seed=3, work=Workplace(folder, resume=resume, checkpoint_seconds=0))
        return [array.tobytes() for array in weights_of(model.learners[0]).values()]

    with stopped_after(stop):
        learnt(tmp_path / "stopped")
    assert learnt(tmp_path / "stopped", resume=True) == learnt(None)


def test_rates_are_halved_as_in_the_paper():
    settings = EclareSettings()
    halved = [
        halving_epochs(phase.epochs, phase.halve)
        for phase in (settings.surrogate, settings.meta, settings.extreme)
    ]
    assert halved == [[10, 15], [5], [5]]
