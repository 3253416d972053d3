"""Leaving words out: every model can be explained, whatever it is made of."""

from __future__ import annotations

import numpy as np
import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.corpus import LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.evaluation.ranking import TopK, top_k_of_scores
from tailwright.models.linear import Linear
from tailwright.models.popularity import Popularity
from tailwright.runs import occlusion
from tailwright.runs.occlusion import occluded, without
from tailwright.runs.run import Run


@pytest.fixture(scope="module")
def linear() -> Run:
    return tw.train(tiny_corpus(), "linear", settings={"trees": 1})


def strongest(reasons) -> str:
    return max(reasons.words, key=lambda share: share.value).word


def test_the_decisive_word_comes_first(linear):
    text = "old candle new bridge"
    candle, bridge = occluded(linear, text, [2, 1])
    assert (strongest(candle), strongest(bridge)) == ("candle", "bridge")
    assert not candle.exact
    assert candle.measure == "log-odds that the label loses without the word"


def test_a_model_that_cannot_say_is_asked_without_each_word(linear, monkeypatch):
    monkeypatch.setattr(Linear, "explain", lambda self, text, labels: None)
    explained = linear.explain("old candle new bridge", "candle things", rows=0)
    assert strongest(explained.labels[0].reasons) == "candle"


def test_a_word_that_keeps_a_label_out_speaks_against_it():
    class Hushed(Popularity):
        def predict(self, texts, k) -> TopK:
            scores = [
                [0.1, 1.0] if "not" in text else [2.0, 1.0] for text in arrow_strings(texts).to_pylist()
            ]
            return top_k_of_scores(np.array(scores, dtype=np.float32), k)

    run = Run(Hushed(), LabelSpace.numbered(2), 10)
    (reasons,) = occluded(run, "this not that", [0])
    assert {share.word: round(share.value, 3) for share in reasons.words} == {
        "this": 0,
        "not": -1.9,
        "that": 0,
    }
    assert reasons.measure == "score that the label loses without the word"


def test_so_many_words_at_most_are_left_out_and_the_rest_is_mentioned(linear, monkeypatch):
    monkeypatch.setattr(occlusion, "MOST_WORDS", 2)
    (reasons,) = occluded(linear, "old candle new bridge", [2])
    assert [share.word for share in reasons.words] == ["old", "candle"]
    assert reasons.notes == ("only the first 2 of 4 words were left out in turn",)


@pytest.mark.parametrize(
    ("text", "word", "left"),
    [("Red hat, RED shoe", "red", " hat,  shoe"), ("red", "blue", "red"), ("", "x", "")],
)
def test_all_occurrences_of_a_word_are_left_out(text, word, left):
    assert without(text, word) == left
