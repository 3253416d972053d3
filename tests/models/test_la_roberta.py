"""la-roberta: the contract of models with both heads, attention over special tokens, starts of biases."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_encoders import READING

from tailwright.checks import check_model
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.dataset import arrow_strings
from tailwright.encoders.reading import read
from tailwright.models.la_roberta.model import LaRoberta, LaRobertaSettings
from tailwright.training.workplace import Workplace

SHARED = {"head": "shared-mlp", "layers": (32, 16), "frozen": True, "head_rate": 1e-2, "epochs": 16}


@pytest.mark.parametrize("settings", [{}, SHARED], ids=["label-specific", "shared-mlp"])
def test_it_passes_the_checks(tiny_reader, settings):
    check_model("la-roberta", {**READING, "encoder": tiny_reader, **settings})


def untrained(encoder: str, **settings):
    model = LaRoberta(LaRobertaSettings(encoder=encoder, **settings))
    return model, model.new_network(tiny_corpus(), seed=0, work=Workplace())


def test_labels_attend_to_the_special_tokens_too(tiny_reader):
    model, network = untrained(tiny_reader)
    batch = model.tokens(arrow_strings(["", "apple", "apple bridge candle"])).padded()
    found = read(network.encoder, batch)
    assert found.mask.sum(1).tolist() == [2, 3, 5]
    head = network.output.head
    before = head.scores(found.states, found.mask)
    for place in (0, 2):  # the first and the last token of "apple"
        states = found.states.clone()
        states[1, place] += 1
        assert not torch.allclose(head.scores(states, found.mask)[1], before[1], atol=1e-3)


def test_the_bias_of_a_shared_network_starts_at_the_log_odds_of_the_mean_label(tiny_reader):
    _, network = untrained(tiny_reader, head="shared-mlp", layers=(8, 4))
    corpus = tiny_corpus()
    mean = corpus.labels.counts.mean()
    expected = np.log((mean + 0.5) / (len(corpus.train) - mean + 0.5))
    assert network.parts()["head.bias-2"].item() == pytest.approx(expected, rel=1e-5)
    _, network = untrained(tiny_reader, head="shared-mlp", layers=(8, 4), start_bias="zero")
    assert network.parts()["head.bias-2"].item() == 0


def test_biases_of_labels_start_at_their_log_odds(tiny_reader):
    _, network = untrained(tiny_reader)
    counts, rows = tiny_corpus().labels.counts, len(tiny_corpus().train)
    expected = np.log((counts + 0.5) / (rows - counts + 0.5))
    np.testing.assert_allclose(network.parts()["head.bias"].numpy(), expected, rtol=1e-5)


def test_output_vectors_may_start_at_the_mean_token_of_what_labels_are_called(tiny_reader):
    model, network = untrained(tiny_reader, start_labels="texts", start_norm=2.0)
    texts = tiny_corpus().labels.texts
    found = read(network.encoder, model.tokens(texts).padded())
    with torch.no_grad():
        means = torch.stack(
            [row[inside].mean(0) for row, inside in zip(found.states, found.mask, strict=True)]
        )
    centred = means - means.mean(0)
    expected = 2 * centred / centred.norm(dim=1, keepdim=True)
    torch.testing.assert_close(network.parts()["head.outputs"].detach(), expected, atol=1e-4, rtol=1e-4)


def test_a_shared_network_has_no_output_vectors_to_start_from():
    with pytest.raises(ValueError, match="start_labels must be random with head shared-mlp"):
        LaRobertaSettings(head="shared-mlp", start_labels="texts")


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("head", "mlp", "head must be label-specific or shared-mlp, got 'mlp'"),
        ("layers", (), "layers must be one or more sizes >= 1, got \\[\\]"),
        ("layers", (8, 0), "layers must be one or more sizes >= 1, got \\[8, 0\\]"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting, value, message):
    with pytest.raises(ValueError, match=message):
        LaRobertaSettings(**{setting: value})
