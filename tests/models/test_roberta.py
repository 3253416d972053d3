"""roberta: the contract of models, what output biases start at, and a real encoder where there is one."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_encoders import READING

import tailwright as tw
from tailwright.checks import check_model
from tailwright.checks.corpora import tiny_corpus
from tailwright.errors import InputError
from tailwright.models.roberta import Roberta, RobertaSettings
from tailwright.training.workplace import Workplace


@pytest.mark.parametrize("frozen", [False, True], ids=["live", "frozen"])
def test_it_passes_the_checks(tiny_reader, frozen):
    check_model("roberta", {**READING, "encoder": tiny_reader, "frozen": frozen})


def started(encoder: str, start: str) -> np.ndarray:
    model = Roberta(RobertaSettings(encoder=encoder, start_bias=start))
    network = model.new_network(tiny_corpus(), seed=0, work=Workplace())
    return network.parts()["head.bias"].numpy()


def test_biases_start_at_the_log_odds_of_labels_or_at_zero(tiny_reader):
    corpus = tiny_corpus()
    chances = (corpus.labels.counts + 0.5) / (len(corpus.train) + 1)
    bias = started(tiny_reader, "log-odds")
    np.testing.assert_allclose(1 / (1 + np.exp(-bias)), chances, rtol=1e-5)
    assert corpus.labels.counts[-1] == 0
    assert not started(tiny_reader, "zero").any()


def test_new_rows_do_not_move_where_biases_start(tiny_reader):
    grown = tw.augment(tiny_corpus(), "gandalf", seed=0)
    assert len(grown.train) > len(tiny_corpus().train)
    model = Roberta(RobertaSettings(encoder=tiny_reader))
    network = model.new_network(grown, seed=0, work=Workplace())
    assert np.array_equal(network.parts()["head.bias"].numpy(), started(tiny_reader, "log-odds"))


def test_an_encoder_that_is_not_there_is_said_in_one_line():
    with pytest.raises(InputError, match="no-such-folder") as caught:
        tw.train(tiny_corpus(), "roberta", settings={"encoder": "./no-such-folder"})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("max_tokens", 2, "max_tokens must be >= 3, got 2"),
        ("head_rate", 0, "head_rate must be > 0, got 0"),
        ("encoder", "", "encoder must be a name or a folder, got nothing"),
        ("start_bias", "one", "start_bias must be zero or log-odds, got 'one'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting, value, message):
    with pytest.raises(ValueError, match=message):
        RobertaSettings(**{setting: value})


@pytest.mark.slow
def test_minilm_learns_the_tiny_corpus_better_than_popularity(minilm):
    corpus = tiny_corpus()
    settings = {"encoder": minilm, "epochs": 6, "batch": 16, "rate": 2e-4, "head_rate": 1e-2}
    run = tw.train(corpus, "roberta", settings=settings)
    popular = tw.train(corpus, "popularity")
    mine, floor = (tw.evaluate(found, corpus.train)["P@1"] for found in (run, popular))
    assert mine > floor + 10
