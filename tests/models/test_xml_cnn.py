"""xml-cnn: the contract of models, and word vectors that are not trained."""

from __future__ import annotations

import numpy as np
import pytest

from tailwright.checks import check_model
from tailwright.checks.corpora import tiny_corpus
from tailwright.errors import InputError
from tailwright.models.xml_cnn import XmlCnnSettings
from tailwright.models.xml_cnn.model import XmlCnn
from tailwright.settings import settings_from
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

SMALL = {"epochs": 12, "batch": 16, "width": 32, "rate": 0.01, "filters": 16, "bottleneck": 32}


def test_it_passes_the_checks():
    check_model("xml-cnn", SMALL)


def test_biases_start_at_the_log_odds_of_labels_at_zero_or_at_random():
    corpus, bias = tiny_corpus(), {}
    for start in ("log-odds", "zero", "random"):
        small = {"width": 8, "filters": 4, "bottleneck": 16, "start_bias": start}
        model = XmlCnn(settings_from(XmlCnnSettings, small))
        model.build(corpus, seed=0, work=Workplace())
        bias[start] = weights_of(model.network)["head.bias"]
    wanted = (corpus.labels.counts + 0.5) / (len(corpus.train) + 1)
    np.testing.assert_allclose(1 / (1 + np.exp(-bias["log-odds"])), wanted, rtol=1e-5)
    assert not bias["zero"].any()
    assert 0 < np.abs(bias["random"]).max() <= 16**-0.5


@pytest.mark.parametrize("learn_words", [True, False])
def test_word_vectors_are_trained_if_asked(learn_words):
    small = {"epochs": 1, "width": 8, "filters": 4, "bottleneck": 8, "learn_words": learn_words}
    model, corpus = XmlCnn(settings_from(XmlCnnSettings, small)), tiny_corpus()
    model.build(corpus, seed=0, work=Workplace())
    before = weights_of(model.network)
    model.fit(corpus, seed=0)
    after = weights_of(model.network)
    still = {name for name, weight in after.items() if np.array_equal(weight, before[name])}
    assert still == (set() if learn_words else {"encoder.words.table.weight"})


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("filters", 0, "filters must be in \\[1, 65536\\], got 0"),
        ("drop_hidden", 1.0, "drop_hidden must be in \\[0, 1\\), got 1.0"),
        ("rate", -1.0, "rate must be in \\(0, 1000\\], got -1.0"),
        ("vocabulary", 1, "vocabulary must be >= 2, got 1"),
        ("clip", 0.0, "clip must be adaptive, > 0 or none, got 0.0"),
        ("average_from", -1, "average_from must be >= 0 or none, got -1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting, value, message):
    with pytest.raises(InputError, match=message):
        settings_from(XmlCnnSettings, {setting: value})
