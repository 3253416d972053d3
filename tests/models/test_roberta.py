"""roberta: the contract of models, what output biases start at, and a real encoder where there is one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from tiny_encoders import READING

import tailwright as tw
from tailwright.checks import check_model
from tailwright.checks.corpora import tiny_corpus
from tailwright.encoders.transformer import TransformerEncoder
from tailwright.errors import InputError
from tailwright.models.roberta import RobertaSettings
from tailwright.models.roberta.model import Roberta
from tailwright.settings import settings_from
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

# An encoder that was never trained reads nothing in label texts: they must not weigh much.
TEXTS = {"frozen": True, "start_labels": "texts", "start_norm": 0.5}


@pytest.mark.parametrize(
    "form",
    [
        pytest.param({}, id="live", marks=pytest.mark.slow),
        pytest.param({"frozen": True}, id="frozen"),
        pytest.param(TEXTS, id="texts"),
    ],
)
def test_it_passes_the_checks(tiny_reader, form):
    check_model("roberta", {**READING, "encoder": tiny_reader, **form})


@pytest.fixture
def started(tiny_reader, tmp_path):
    """The weights that a model on a corpus starts from."""

    def weights(corpus: tw.Corpus, **settings) -> dict[str, np.ndarray]:
        model = Roberta(settings_from(RobertaSettings, {"encoder": tiny_reader, **settings}))
        model._features = tmp_path
        model.build(corpus, seed=0, work=Workplace())
        return weights_of(model.network)

    return weights


def test_biases_start_at_the_log_odds_of_labels_or_at_zero(started):
    corpus = tiny_corpus()
    probabilities = (corpus.labels.counts + 0.5) / (len(corpus.train) + 1)
    bias = started(corpus)["head.bias"]
    np.testing.assert_allclose(1 / (1 + np.exp(-bias)), probabilities, rtol=1e-5)
    assert corpus.labels.counts[-1] == 0
    assert not started(corpus, start_bias="zero")["head.bias"].any()


def test_new_rows_do_not_move_where_biases_start(started):
    grown = tw.augment(tiny_corpus(), "gandalf", seed=0)
    assert len(grown.train) > len(tiny_corpus().train)
    assert np.array_equal(started(grown)["head.bias"], started(tiny_corpus())["head.bias"])


def with_label_texts(texts: list[str]) -> tw.Corpus:
    corpus = tiny_corpus()
    all_texts = texts + corpus.labels.texts.to_pylist()[len(texts) :]
    return replace(corpus, labels=replace(corpus.labels, texts=pa.array(all_texts, pa.large_string())))


def test_output_vectors_may_start_at_what_labels_are_called(tiny_reader, started):
    corpus = with_label_texts(["", "  ", "one text", "one text"])
    random = started(corpus)["head.weight"]
    vectors = started(corpus, start_labels="texts", start_norm=3.0)["head.weight"]
    assert np.array_equal(vectors[:2], random[:2])  # of a label without a text nothing is known
    assert np.array_equal(vectors[2], vectors[3])
    np.testing.assert_allclose(np.linalg.norm(vectors[2:], axis=1), 3.0, rtol=1e-5)
    encoder = TransformerEncoder.pretrained(tiny_reader, "first")
    rows = encoder.tokenizer.rows(corpus.labels.texts.to_pylist()[2:], encoder.max_tokens)
    with torch.no_grad():
        states = encoder(rows.batch(np.arange(len(rows)))).states.numpy()
    centred = states - states.mean(axis=0)
    wanted = 3 * centred / np.linalg.norm(centred, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors[2:], wanted, atol=1e-4)


@pytest.mark.parametrize("text", ["", "the same everywhere"])
def test_label_texts_that_tell_nothing_are_no_start(started, text):
    corpus = with_label_texts([text] * len(tiny_corpus().labels))
    vectors = started(corpus, start_labels="texts")["head.weight"]
    wanted = started(corpus)["head.weight"] if not text else np.zeros_like(vectors)
    assert np.array_equal(vectors, wanted)


def test_an_encoder_that_is_not_there_is_said_in_one_line():
    with pytest.raises(InputError, match="no-such-folder") as caught:
        tw.train(tiny_corpus(), "roberta", settings={"encoder": "./no-such-folder"})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("max_tokens", 2, "max_tokens must be >= 3, got 2"),
        ("head_rate", 0, "head_rate must be in \\(0, 1000\\], got 0"),
        ("head_epochs", -1, "head_epochs must be in \\[0, 1000000\\], got -1"),
        ("head_epochs_rate", 0, "head_epochs_rate must be in \\(0, 1000\\], got 0"),
        ("encoder", "", "encoder must be a name or a folder, got nothing"),
        ("start_bias", "one", "setting start_bias: found 'one', expected one of zero, log-odds"),
        ("start_labels", "names", "setting start_labels: found 'names', expected one of random, texts"),
        ("start_norm", 0, "start_norm must be > 0, got 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting, value, message):
    with pytest.raises(InputError, match=message):
        settings_from(RobertaSettings, {setting: value})


def test_a_frozen_encoder_has_no_epochs_of_the_head_alone():
    with pytest.raises(InputError, match="head_epochs must be 0 with a frozen encoder"):
        settings_from(RobertaSettings, {"frozen": True, "head_epochs": 1})


@pytest.mark.slow
def test_minilm_learns_the_tiny_corpus_better_than_popularity(minilm):
    corpus = tiny_corpus()
    settings = {"encoder": minilm, "epochs": 6, "batch": 16, "rate": 2e-4, "head_rate": 1e-2}
    run = tw.train(corpus, "roberta", settings=settings)
    popular = tw.train(corpus, "popularity")
    mine, floor = (tw.evaluate(found, corpus.train)["P@1"] for found in (run, popular))
    assert mine > floor + 10
