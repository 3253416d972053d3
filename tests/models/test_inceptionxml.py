"""inceptionxml keeps the contract, learns in both pipelines, resumes to the same weights, has learners."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit
from stopped_fits import stopped_after

import tailwright as tw
from tailwright.checks import check_model
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.dataset import arrow_strings
from tailwright.errors import InputError
from tailwright.models.inceptionxml import InceptionXmlSettings
from tailwright.models.inceptionxml.model import InceptionXml
from tailwright.settings import settings_from
from tailwright.store import open_folder, writing
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

TINY = {"width": 64, "channels": 4, "max_length": 8, "batch": 32, "labels_each": 2, "top_clusters": 2}
QUICK = {**TINY, "epochs": 2, "meta_epochs": 1}
# Enough steps, and nothing dropped, to learn so few rows.
LEARNT = {
    **TINY,
    "epochs": 8,
    "batch": 16,
    "meta_epochs": 2,
    "rate": 0.02,
    "drop_words": 0.0,
    "drop_hidden": 0.0,
    "drop_meta": 0.0,
    "drop_labels": 0.0,
}


def fitted(settings: dict, work: Workplace | None = None) -> InceptionXml:
    model = InceptionXml(settings_from(InceptionXmlSettings, settings))
    model.fit(tiny_corpus(), seed=1, work=work)
    return model


def weights(model: InceptionXml) -> dict[str, np.ndarray]:
    return {name: array.copy() for name, array in weights_of(model.network).items()}


def events(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_it_passes_the_checks():
    check_model("inceptionxml", LEARNT)


def test_the_plain_pipeline_learns_and_is_saved(tmp_path):
    corpus, model = tiny_corpus(), fitted({**LEARNT, "pipeline": "plain", "epochs": 16})
    top = model.predict(corpus.train.texts, 3)
    assert corpus.train.targets.toarray()[np.arange(120), top.ids[:, 0]].mean() > 0.7
    with writing(tmp_path / "model", kind="model") as folder:
        model.save(folder)
    again = InceptionXml(model.settings)
    again.load(open_folder(tmp_path / "model", kind="model"), 11)
    np.testing.assert_array_equal(again.predict(corpus.train.texts, 3).scores, top.scores)


def test_learners_have_seeds_and_clusters_of_their_own_and_their_probabilities_are_averaged():
    model, texts = fitted({**QUICK, "learners": 2, "top_clusters": 4}), ["apple bridge", "part1 candle"]
    one, other = (model.network.learner(name) for name in model.network)
    assert not np.array_equal(one.encoder.words.table.array, other.encoder.words.table.array)
    assert not np.array_equal(one.head.groups.of_label, other.head.groups.of_label)
    batch = model.texts.tokens(arrow_strings(texts)).padded()
    means = np.zeros((2, 11))
    for learner in (one, other):
        top = learner.top_k(batch, 11)
        for row in range(2):
            named = top.ids[row] >= 0
            means[row, top.ids[row][named]] += expit(top.scores[row][named]) / 2
    together = model.predict(texts, 4)
    np.testing.assert_allclose(expit(together.scores), -np.sort(-means, axis=1)[:, :4], rtol=1e-4)
    assert model.text_vectors(texts).shape == (2, 2 * one.encoder.width)


@pytest.mark.parametrize("pipeline", ["plus", "plain"])
def test_stopped_after_any_checkpoint_it_ends_with_the_same_weights(tmp_path, pipeline):
    settings = {**QUICK, "pipeline": pipeline}
    expected = weights(fitted(settings))
    for stop in (1, 4, 7):  # of 8 steps, before, at and behind the end of the first epoch
        folder = tmp_path / str(stop)
        with stopped_after(stop):
            fitted(settings, Workplace(folder, checkpoint_seconds=0))
        found = weights(fitted(settings, Workplace(folder, resume=True)))
        assert found.keys() == expected.keys()
        assert all(np.array_equal(found[name], expected[name]) for name in expected), f"stopped at {stop}"


def test_the_share_of_positives_that_the_best_clusters_hold_is_logged_after_each_epoch(tmp_path):
    fitted(QUICK, Workplace(tmp_path))
    shares = [event["share"] for event in events(tmp_path) if event["event"] == "reach"]
    assert len(shares) == 2
    assert all(0 < share <= 1 for share in shares)


def test_labels_without_rows_are_in_a_cluster_with_gandalf_alone():
    corpus = tiny_corpus()
    plain = tw.train(corpus, "inceptionxml", settings=QUICK, seed=1)
    assert 10 not in plain.model.predict(["zeppelin things"], 11).ids
    more = tw.train(corpus, "inceptionxml", augment=["gandalf"], settings=QUICK, seed=1)
    assert more.model.groups["learner-1"].of_label[10] >= 0


@pytest.mark.parametrize("method", ["labelmix", "hiddenmix"])
def test_methods_inside_the_training_reach_what_is_learnt(method):
    corpus = tiny_corpus()
    plain, mixed = (
        tw.train(corpus, "inceptionxml", augment=methods, settings=QUICK, seed=1)
        for methods in ([], [method])
    )
    names = [name for name in weights(plain.model) if name.endswith("words.table.weight")]
    assert not np.array_equal(weights(plain.model)[names[0]], weights(mixed.model)[names[0]])


def test_binary_targets_of_clusters_and_of_labels_can_be_asked_for():
    corpus = tiny_corpus()
    softer = corpus.train.targets.copy()
    softer.data *= np.float32(0.5)
    soft = corpus.with_train(replace(corpus.train, targets=softer))
    binary = {**QUICK, "clusters.targets": "binary", "label_targets": "binary"}
    scores = []
    for source in (corpus, soft):
        model = InceptionXml(settings_from(InceptionXmlSettings, binary))
        model.fit(source, seed=1)
        scores.append(model.network.learner("learner-1").head.meta.table.array)
    # Clusters are made of soft targets all the same, by direction alone: both trainings are the same.
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"width": 63}, "width must be >= 64, got 63"),
        ({"average_from": 1}, "average_from must be none: statistics of batches are not averaged"),
        ({"pipeline": "other"}, "expected one of plus, plain"),
        ({"top_clusters": 0}, "top_clusters must be >= 1, got 0"),
        ({"drop_meta": 1.0}, r"drop_meta must be in \[0, 1\), got 1.0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        settings_from(InceptionXmlSettings, values)
