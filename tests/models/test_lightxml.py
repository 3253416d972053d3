"""LightXML as a model: the contract in both forms, what its form depends on, its folder, its settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_encoders import READING, save_reader

import tailwright as tw
from tailwright.checks import check_model
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.dataset import Dataset, Origin
from tailwright.encoders.transformer import TransformerEncoder
from tailwright.errors import InputError
from tailwright.heads.dense import DenseHead
from tailwright.models import models
from tailwright.models.lightxml import MOST_FLAT_LABELS, LightXmlSettings
from tailwright.models.lightxml.model import LightXml
from tailwright.models.lightxml.network import GroupedHead
from tailwright.settings import settings_from
from tailwright.store import open_folder, writing
from tailwright.training.workplace import Workplace

GROUPED = {"groups": "grouped", "top_groups": 2, "hidden": 16, "leaf": 3}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    return str(save_reader(tmp_path_factory.mktemp("lightxml") / "bert", layers=4))


def fitted(encoder: str, corpus=None, **settings) -> LightXml:
    model = LightXml(settings_from(LightXmlSettings, {"encoder": encoder, "epochs": 1, **settings}))
    model.fit(corpus or tiny_corpus(), seed=0)
    return model


@pytest.mark.parametrize(
    "form",
    [
        pytest.param({"groups": "flat"}, id="flat", marks=pytest.mark.slow),
        pytest.param(GROUPED, id="grouped"),
    ],
)
def test_on_frozen_features_it_passes_the_checks(encoder, form):
    check_model("lightxml", {"encoder": encoder, **READING, **form, "frozen": True})


@pytest.mark.slow
@pytest.mark.parametrize("form", [{"groups": "flat"}, GROUPED], ids=["flat", "grouped"])
def test_with_its_encoder_it_passes_the_checks(encoder, form):
    check_model("lightxml", {"encoder": encoder, **READING, **form})


def started(encoder: str, folder: Path, corpus: tw.Corpus, **settings) -> LightXml:
    """A model as it is before its first step."""
    model = LightXml(settings_from(LightXmlSettings, {"encoder": encoder, **settings}))
    model._features = folder
    model.build(corpus, seed=0, work=Workplace())
    return model


def test_biases_start_at_the_log_odds_of_labels_at_zero_or_as_the_paper_draws_them(encoder, tmp_path):
    corpus = tiny_corpus()
    bias = {
        start: started(encoder, tmp_path, corpus, start_bias=start).network.head.bias.detach().numpy()
        for start in ("log-odds", "zero", "random")
    }
    wanted = (corpus.labels.counts + 0.5) / (len(corpus.train) + 1)
    np.testing.assert_allclose(1 / (1 + np.exp(-bias["log-odds"])), wanted, rtol=1e-5)
    assert not bias["zero"].any()
    assert 0 < np.abs(bias["random"]).max() <= (5 * 32) ** -0.5


def test_in_groups_biases_start_at_the_log_odds_of_the_groups_among_original_rows(encoder, tmp_path):
    corpus = tiny_corpus()
    model = started(encoder, tmp_path, corpus, start_bias="log-odds", **GROUPED)
    dense = corpus.train.targets.toarray() > 0
    rows = [dense[:, model.groups.of_label == group].any(axis=1).sum() for group in range(model.groups.count)]
    wanted = (np.array(rows) + 0.5) / (len(corpus.train) + 1)
    bias = model.network.head.recall.bias.detach().numpy()
    np.testing.assert_allclose(1 / (1 + np.exp(-bias)), wanted, rtol=1e-5)
    made = replace(corpus.train.take(np.arange(5)), origin=Origin.made_by("toy", np.arange(5)))
    grown = replace(corpus, train=Dataset.concat([corpus.train, made]))
    again = started(encoder, tmp_path, grown, start_bias="log-odds", **GROUPED)
    assert np.array_equal(again.groups.of_label, model.groups.of_label)
    assert np.array_equal(again.network.head.recall.bias.detach().numpy(), bias)


def test_flat_scores_are_one_linear_layer_over_the_first_tokens_of_five_states(encoder):
    model = fitted(encoder)
    text = tiny_corpus().train.texts[0].as_py()
    found = model.predict([text], 11)
    network = model.network.encoder.model
    with torch.no_grad():
        ids = torch.from_numpy(model.texts.tokens([text]).ids.astype(np.int64))[None]
        states = network(ids, output_hidden_states=True).hidden_states
        feature = torch.cat([states[-layer][0, 0] for layer in range(1, 6)])
        head = model.network.head
        scores = head.weight @ feature + head.bias
    assert feature.shape == (5 * 32,)
    np.testing.assert_allclose(
        found.scores[0], scores[found.ids[0].astype(np.int64)].numpy(), rtol=1e-3, atol=1e-4
    )


def test_dropout_of_the_feature_stays_when_the_encoder_is_frozen(encoder):
    weights = [fitted(encoder, frozen=True, drop=drop).network.head.weight for drop in (0.0, 0.5)]
    assert not torch.equal(*weights)


def test_frozen_the_encoder_stays_as_it_is(encoder):
    before = TransformerEncoder.pretrained(encoder, "first-of-five").identity()
    assert fitted(encoder, frozen=True, **GROUPED).network.encoder.identity() == before
    assert fitted(encoder, **GROUPED).network.encoder.identity() != before


def test_the_form_goes_by_the_number_of_labels_unless_it_is_set():
    auto = LightXmlSettings()
    assert not auto.grouped(MOST_FLAT_LABELS)
    assert auto.grouped(MOST_FLAT_LABELS + 1)
    assert replace(auto, groups="grouped").grouped(2)
    assert not replace(auto, groups="flat").grouped(10**6)


def test_each_form_has_its_head(encoder):
    assert isinstance(fitted(encoder, frozen=True).network.head, DenseHead)
    head = fitted(encoder, frozen=True, **GROUPED).network.head
    assert isinstance(head, GroupedHead)
    assert head.groups.count == 4  # of ten labels that have rows


def test_in_groups_only_labels_that_rows_teach_are_predicted(encoder):
    corpus = tiny_corpus()
    found = fitted(encoder, corpus, frozen=True, **{**GROUPED, "top_groups": 9}).predict(
        corpus.train.texts, 11
    )
    assert set(found.ids.ravel()) == {-1, *range(10)}


def test_damaged_groups_are_refused_in_one_line(encoder, tmp_path):
    model = fitted(encoder, frozen=True, **GROUPED)
    model.groups.of_label[:] = 7
    with writing(tmp_path / "model", kind="model") as folder:
        model.save(folder)
    other = LightXml(model.settings)
    with pytest.raises(InputError, match=r"groups\.npy.*group 0 has no label"):
        other.load(open_folder(tmp_path / "model", kind="model"), 11)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("drop", 1.0),
        ("drop", -0.1),
        ("top_groups", 0),
        ("hidden", 0),
        ("leaf", 0),
        ("kept", 0),
        ("groups", "some"),
    ],
)
def test_a_setting_out_of_range_is_named(name, value):
    with pytest.raises((ValueError, InputError), match=name):
        settings_from(models.get("lightxml").Settings, {name: value})


@pytest.mark.slow
def test_on_the_features_of_minilm_it_learns_the_tiny_corpus(minilm):
    corpus = tiny_corpus()
    small = {"encoder": minilm, "epochs": 30, "batch": 8, "max_tokens": 32, "frozen": True}
    model = LightXml(settings_from(LightXmlSettings, small))
    model.fit(corpus, seed=0)
    found = model.predict(corpus.train.texts, 1).ids[:, 0]
    right = [found[row] in corpus.train.targets[[row]].indices for row in range(len(corpus.train))]
    assert np.mean(right) > 0.8  # one label for all would be right on half of the rows
