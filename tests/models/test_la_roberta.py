"""la-roberta: the contract of models with both heads, attention over special tokens, starts of biases."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_encoders import READING

from tailwright.checks import check_model
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.dataset import arrow_strings
from tailwright.encoders.encoded import Encoded
from tailwright.errors import InputError
from tailwright.models.la_roberta import LaRobertaSettings
from tailwright.models.la_roberta.model import LaRoberta
from tailwright.settings import settings_from
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

SHARED = {"head": "shared-mlp", "layers": (32, 16), "frozen": True, "head_rate": 1e-2, "epochs": 16}


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"frozen": True}, id="frozen"),
        pytest.param({}, id="label-specific", marks=pytest.mark.slow),
        pytest.param(SHARED, id="shared-mlp", marks=pytest.mark.slow),
    ],
)
def test_it_passes_the_checks(tiny_reader, settings):
    check_model("la-roberta", {**READING, "encoder": tiny_reader, **settings})


@pytest.fixture
def untrained(tiny_reader, tmp_path):
    """A model with its untrained network."""

    def built(**settings) -> LaRoberta:
        model = LaRoberta(settings_from(LaRobertaSettings, {"encoder": tiny_reader, **settings}))
        model._features = tmp_path
        model.build(tiny_corpus(), seed=0, work=Workplace())
        model.network.eval()
        return model

    return built


def test_labels_attend_to_the_special_tokens_too(untrained):
    model = untrained()
    batch = model.texts.tokens(arrow_strings(["", "apple", "apple bridge candle"])).padded()
    encoded, head = model.network.encoder(batch), model.network.head
    assert encoded.mask.sum(1).tolist() == [2, 3, 5]
    before = head.logits(encoded)
    for place in (0, 2):  # the first and the last token of "apple"
        states = encoded.states.detach().clone()
        states[1, place] += 1
        assert not torch.allclose(head.logits(Encoded(states, encoded.mask))[1], before[1], atol=1e-3)


def test_the_bias_of_a_shared_network_starts_at_the_log_odds_of_the_mean_label(untrained):
    weights = weights_of(untrained(head="shared-mlp", layers=(8, 4)).network)
    corpus = tiny_corpus()
    mean = corpus.labels.counts.mean()
    expected = np.log((mean + 0.5) / (len(corpus.train) - mean + 0.5))
    assert weights["head.layers.2.bias"].item() == pytest.approx(expected, rel=1e-5)
    weights = weights_of(untrained(head="shared-mlp", layers=(8, 4), start_bias="zero").network)
    assert weights["head.layers.2.bias"].item() == 0


def test_biases_of_labels_start_at_their_log_odds(untrained):
    bias = weights_of(untrained().network)["head.bias"]
    counts, rows = tiny_corpus().labels.counts, len(tiny_corpus().train)
    expected = np.log((counts + 0.5) / (rows - counts + 0.5))
    np.testing.assert_allclose(bias, expected, rtol=1e-5)


def test_output_vectors_may_start_at_the_mean_token_of_what_labels_are_called(untrained):
    model = untrained(start_labels="texts", start_norm=2.0)
    with torch.no_grad():
        encoded = model.network.encoder(model.texts.tokens(tiny_corpus().labels.texts).padded())
        means = torch.stack(
            [row[inside].mean(0) for row, inside in zip(encoded.states, encoded.mask, strict=True)]
        )
    centred = means - means.mean(0)
    expected = 2 * centred / centred.norm(dim=1, keepdim=True)
    torch.testing.assert_close(model.network.head.outputs.detach(), expected, atol=1e-4, rtol=1e-4)


def test_a_shared_network_has_no_output_vectors_to_start_from():
    with pytest.raises(InputError, match="start_labels must be random with head shared-mlp"):
        settings_from(LaRobertaSettings, {"head": "shared-mlp", "start_labels": "texts"})


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("head", "mlp", "setting head: found 'mlp', expected one of label-specific, shared-mlp"),
        ("layers", (), "layers must be one or more sizes, got none"),
        ("layers", (8, 0), r"layers must be in \[1, 65536\], got \[8, 0\]"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting, value, message):
    with pytest.raises(InputError, match=message):
        settings_from(LaRobertaSettings, {setting: value})
