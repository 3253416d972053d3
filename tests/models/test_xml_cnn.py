"""xml-cnn: the contract of models, and word vectors that are not trained."""

from __future__ import annotations

import numpy as np
import pytest

from tailwright.checks import check_model
from tailwright.checks.corpora import tiny_corpus
from tailwright.models.xml_cnn.model import XmlCnn, XmlCnnSettings

SMALL = {"epochs": 20, "batch": 8, "width": 64, "rate": 0.003, "filters": 32, "bottleneck": 64}


def test_it_passes_the_checks():
    check_model("xml-cnn", SMALL)


@pytest.mark.parametrize("learn_words", [True, False])
def test_word_vectors_are_trained_if_asked(learn_words):
    model = XmlCnn(XmlCnnSettings(epochs=1, width=8, filters=4, bottleneck=8, learn_words=learn_words))
    tables = []
    make = model.encoder

    def noting(table, seed):
        tables.append(table.copy())
        return make(table, seed)

    model.encoder = noting
    model.fit(tiny_corpus(), seed=0)
    after = model.network.parts()["encoder.words"].weight
    assert np.array_equal(after, tables[0]) != learn_words


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("filters", 0, "filters must be >= 1, got 0"),
        ("drop_hidden", 1.0, "drop_hidden must be in \\[0, 1\\), got 1.0"),
        ("rate", -1.0, "rate must be > 0, got -1.0"),
        ("vocabulary", 1, "vocabulary must be >= 2, got 1"),
        ("clip", 0.0, "clip must be > 0, adaptive or none, got 0.0"),
        ("average_from", -1, "average_from must be >= 0 or none, got -1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting, value, message):
    with pytest.raises(ValueError, match=message):
        XmlCnnSettings(**{setting: value})
