"""Twin does what its page says."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tailwright.checks.corpora import tiny_corpus
from tailwright.data.corpus import Corpus, LabelSpace, corpus_from_lists
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.errors import InputError
from tailwright.models.twin import TwinSettings
from tailwright.models.twin.model import Twin
from tailwright.settings import settings_from
from tailwright.store import open_folder, writing
from tailwright.training.workplace import Workplace

QUICK = TwinSettings(width=32, epochs=2, batch=32, negatives=8)


def fitted(corpus: Corpus, settings: TwinSettings = QUICK, work: Workplace | None = None) -> Twin:
    model = Twin(settings)
    model.fit(corpus, seed=1, work=work)
    return model


def test_without_training_it_matches_words():
    """One step at a vanishing rate leaves the random projection, which finds labels by shared words."""
    texts = ["green parrots", "steam engines", "paper maps"]
    corpus = corpus_from_lists(["nothing in common"], [[0]], texts)
    model = fitted(corpus, replace(QUICK, rate=1e-12, block_rate=1e-12, epochs=1, width=256))
    found = model.predict(["an engine of steam", "map of paper", "parrots"], 1).ids.ravel()
    assert found.tolist() == [1, 2, 0]


def test_a_label_that_no_row_carries_is_found_by_its_text():
    model = fitted(tiny_corpus(), replace(QUICK, width=128))
    assert model.predict(["zeppelin"], 1).ids.tolist() == [[10]]


def test_labels_without_text_are_learnt_from_their_rows():
    corpus = tiny_corpus()
    texts = corpus.labels.texts.to_pylist()
    bare = LabelSpace(corpus.labels.ids, corpus.labels.names, arrow_strings(["", "", *texts[2:]]))
    model = fitted(Corpus(corpus.train, bare), replace(QUICK, epochs=10))
    assert model.predict(["apple", "bridge"], 1).ids.ravel().tolist() == [0, 1]


def test_no_label_text_at_all_names_the_alternative():
    corpus = tiny_corpus()
    bare = LabelSpace.numbered(len(corpus.labels))
    with pytest.raises(
        InputError, match="no label has a text, expected label texts, or a model such as linear"
    ):
        fitted(Corpus(corpus.train, bare))


def test_equal_scores_go_by_smaller_label():
    corpus = corpus_from_lists(["red hat"], [[2]], ["blue shoe", "blue shoe", "red hat"])
    assert fitted(corpus, replace(QUICK, negatives=0)).predict(["blue shoe"], 2).ids.tolist() == [[0, 1]]


def test_validation_rows_stop_training_and_are_logged(tmp_path):
    corpus = tiny_corpus().split(0.2)
    settings = replace(QUICK, epochs=30, patience=1, metric="PSP@1")
    fitted(corpus, settings, Workplace(tmp_path))
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    qualities = [line["valid"] for line in lines if line["event"] == "epoch"]
    assert len(qualities) < 30
    assert qualities[-1] <= max(qualities[:-1])
    assert all(0 <= quality <= 100 for quality in qualities)


def test_a_folder_brings_it_back_for_as_many_labels(tmp_path):
    settings = replace(QUICK, width=16, epochs=1, pieces=3)
    model, again = fitted(tiny_corpus(), settings), Twin(settings)
    with writing(tmp_path / "model", kind="model") as folder:
        model.save(folder)
    again.load(open_folder(tmp_path / "model", kind="model"), 11)
    mine, theirs = (m.predict(["apple harbour"], 4) for m in (model, again))
    np.testing.assert_array_equal(mine.scores, theirs.scores)
    with pytest.raises(InputError, match=r"twin\.safetensors"):
        again.load(open_folder(tmp_path / "model", kind="model"), 12)


def test_numbers_that_are_not_finite_are_refused(tmp_path):
    model = fitted(tiny_corpus())
    model.vectors.labels[3, 1] = np.nan
    with writing(tmp_path / "model", kind="model") as folder:
        model.save(folder)
    with pytest.raises(
        InputError, match=r"twin\.safetensors: found labels of float32, expected finite numbers"
    ):
        Twin(QUICK).load(open_folder(tmp_path / "model", kind="model"), 11)


def test_the_expected_memory_is_logged_before_training(tmp_path):
    fitted(tiny_corpus(), QUICK, Workplace(tmp_path))
    events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    names = [event["event"] for event in events]
    assert names.index("memory") < names.index("epoch")
    assert next(event for event in events if event["event"] == "memory")["expected_peak_mb"] > 1


def test_an_empty_training_set_leaves_the_matcher():
    corpus = tiny_corpus()
    none = Dataset(arrow_strings([]), corpus.train.targets[:0])
    model = fitted(Corpus(none, corpus.labels), replace(QUICK, width=128))
    assert model.predict(["guitar"], 1).ids.tolist() == [[6]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"width": 0}, "width must be in \\[1, 65536\\], got 0"),
        ({"rate": -1.0}, "rate must be in \\(0, 1000\\], got -1.0"),
        ({"pieces": 1}, "pieces must be 0 or >= 2, got 1"),
        ({"schedule": "zigzag"}, "expected one of constant, linear, cosine, step"),
        ({"warmup": 2.0}, r"warmup must be in \[0, 1\), got 2.0"),
        ({"negatives": -1}, "negatives must be in \\[0, 1000000\\], got -1"),
        ({"epoch": 3}, "did you mean 'epochs'"),
    ],
)
def test_bad_settings_are_named(values, message):
    with pytest.raises(InputError, match=message):
        settings_from(TwinSettings, values)


def test_nothing_is_said_of_a_text_without_a_known_word():
    corpus = tiny_corpus()
    model = Twin(TwinSettings(epochs=1, width=16))
    model.fit(corpus)
    top = model.predict(["", "日本語", "apple"], 3)
    assert (top.ids[:2] == -1).all()
    assert (top.ids[2] >= 0).all()


def clustered_twin(monkeypatch: pytest.MonkeyPatch) -> Twin:
    monkeypatch.setattr("tailwright.models.twin.network.FEWEST_POINTS", 2)
    model = Twin(settings_from(TwinSettings, {"width": 8, "epochs": 1}))
    model.fit(tiny_corpus(rows=40))
    return model


def test_clusters_of_labels_come_back_from_a_folder_and_grow_with_the_labels(tmp_path, monkeypatch):
    model = clustered_twin(monkeypatch)
    labels = len(model.vectors.labels)
    with writing(tmp_path / "twin", kind="part") as folder:
        model.save(folder)
    again = Twin(model.settings)
    again.load(open_folder(tmp_path / "twin", kind="part"), labels)
    assert again.looks_at_named
    np.testing.assert_array_equal(again.vectors.clusters.owners, model.vectors.clusters.owners)
    grown = again.with_more_labels(LabelSpace(["new"], texts=["a new label"]))
    assert len(grown.vectors.clusters.owners) == labels + 1


def test_a_folder_of_an_earlier_version_has_no_clusters_and_searches_all_labels(tmp_path, monkeypatch):
    model = clustered_twin(monkeypatch)
    old = Twin(model.settings)
    old.features, old.vectors = model.features, replace(model.vectors, clusters=None)
    with writing(tmp_path / "twin", kind="part") as folder:
        old.save(folder)
    again = Twin(model.settings)
    again.load(open_folder(tmp_path / "twin", kind="part"), len(model.vectors.labels))
    assert not again.looks_at_named
    texts = tiny_corpus(rows=40).train.texts
    np.testing.assert_array_equal(again.predict(texts, 3).ids, model.predict(texts, 3).ids)


def test_a_label_in_a_cluster_that_is_not_there_is_refused(tmp_path, monkeypatch):
    model = clustered_twin(monkeypatch)
    model.vectors.clusters.owners[0] = 10_000
    with writing(tmp_path / "twin", kind="part") as folder:
        model.save(folder)
    with pytest.raises(InputError, match=r"owners\.npy.*clusters 0\.\.10000"):
        Twin(model.settings).load(open_folder(tmp_path / "twin", kind="part"), len(model.vectors.labels))


def test_few_wanted_labels_are_searched_among_clusters_and_many_among_all(monkeypatch):
    model = clustered_twin(monkeypatch)
    monkeypatch.setattr("tailwright.heads.clustered_points.POINTS_FOR_EACH", 0.01)
    texts = tiny_corpus(rows=40).train.texts
    none = np.full((len(texts), 1), -1, np.int32)
    assert (model.predict_with_named(texts, 3, none).ids[:, 2] == -1).any()  # a single cluster has fewer
    monkeypatch.setattr("tailwright.heads.clustered_points.POINTS_FOR_EACH", 40)
    found = model.predict_with_named(texts, 3, none)
    np.testing.assert_array_equal(found.ids, model.predict(texts, 3).ids)
