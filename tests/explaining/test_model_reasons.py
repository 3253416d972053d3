"""Models say what each word added: the words add up to the score that prediction uses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwright.checks.corpora import FILLERS, TOPICS, tiny_corpus
from tailwright.data.pairs import csr_arrays
from tailwright.data.text.words import split_words, word_segments
from tailwright.kernels.beam import log_activation
from tailwright.models.label_matcher import LabelMatcher
from tailwright.models.linear import LOSSES, Linear, LinearSettings
from tailwright.models.shared.reasons import word_shares
from tailwright.models.twin import TwinSettings
from tailwright.models.twin.model import Twin
from tailwright.training.forest_paths import TextInForest

TEXT = "Old apple, zzyzx apples bridge part1 apple"
DEEP = {"trees": 2, "cluster_size": 2, "branching": 2}  # two levels of clusters above 11 labels
LABELS = len(TOPICS) + 1
texts = st.lists(st.sampled_from([*TOPICS, *FILLERS, "part1", "apples", "zzyzx"]), max_size=8).map(" ".join)


def fitted(model):
    model.fit(tiny_corpus(), seed=1)
    return model


@pytest.fixture(scope="module")
def linear() -> Linear:
    return fitted(Linear(LinearSettings(**DEEP, beam=2)))


@pytest.fixture(scope="module")
def twin() -> Twin:
    return fitted(Twin(TwinSettings(width=16, epochs=1, batch=32, negatives=8)))


@pytest.fixture(scope="module")
def dense_weights(linear) -> np.ndarray:
    """(slots, columns): the weights of every slot of the forest as one dense matrix."""
    forest = linear.forest
    weights, stored = np.zeros((len(forest.children), forest.columns)), forest.weights.toarray()
    for node in range(len(forest.slot_starts) - 1):
        first, last = forest.slot_starts[node], forest.slot_starts[node + 1]
        for pair in range(forest.pair_starts[node], forest.pair_starts[node + 1]):
            weights[first:last, forest.features[pair]] = stored[pair, : last - first]
    return weights


@settings(max_examples=15)
@given(texts)
def test_the_words_of_linear_and_its_bias_add_up_to_the_mean_margin_of_the_label(linear, dense_weights, text):
    margins = dense_weights @ linear.features.transform([text]).toarray()[0] + linear.forest.biases
    for label, reasons in enumerate(linear.explain(text, range(LABELS))):
        own = margins[linear.forest.children == -1 - label]
        if len(own):
            assert reasons.total == pytest.approx(own.mean(), abs=1e-5)
            assert [path[-1].margin for path in reasons.paths] == pytest.approx(own.tolist(), abs=1e-5)
        else:
            assert "no classifier" in reasons.notes[0]


@settings(max_examples=15)
@given(texts, st.integers(1, 3))
def test_the_paths_of_linear_give_the_score_of_the_search(linear, text, beam):
    forest, loss = linear.forest, LOSSES[linear.settings.loss]
    row = linear.features.transform([text])
    top = forest.search(row, LABELS, beam=beam, loss=loss)
    searched = dict(zip(top.ids[0].tolist(), top.scores[0].tolist(), strict=True))
    inside = TextInForest(forest, csr_arrays(row), beam=beam, loss=loss)
    for label in range(LABELS):
        scores = [
            math.prod(step.activation for step in path) * all(step.kept for step in path)
            for path in inside.paths_to(label)
        ]
        assert sum(scores) / DEEP["trees"] == pytest.approx(searched.get(label, 0.0), rel=1e-4, abs=1e-7)


def test_every_step_of_a_path_adds_up_and_inner_steps_lead_to_the_label(linear):
    (reasons,) = linear.explain(TEXT, [1])
    assert [len(path) for path in reasons.paths] == [3, 3]
    for step in (step for path in reasons.paths for step in path):
        assert step.margin == pytest.approx(step.bias + sum(share.value for share in step.words))
        assert step.activation == pytest.approx(
            math.exp(log_activation(step.margin, LOSSES["squared hinge"]))
        )


def test_the_topic_speaks_for_its_label_and_unknown_words_say_nothing(linear):
    by_word = {share.word: share for share in linear.explain(TEXT, [0])[0].words}
    assert list(by_word) == ["old", "apple", "zzyzx", "apples", "bridge", "part1"]
    assert max(by_word.values(), key=lambda share: share.value).word == "apple"
    assert {word for word, share in by_word.items() if share.known_by == "nothing"} == {"zzyzx", "apples"}


@settings(max_examples=15)
@given(texts)
def test_the_words_of_twin_add_up_to_the_scaled_cosine(twin, text):
    cosines = twin.text_vectors([text])[0] @ twin.vectors.labels.T
    totals = [reasons.total for reasons in twin.explain(text, range(LABELS))]
    assert totals == pytest.approx((cosines * twin.vectors.scale).tolist(), abs=1e-4)


def test_twin_reads_a_new_word_by_its_pieces(twin):
    twin.vectors.text_layer[:] = np.eye(16)[::-1]  # so that the residual layer counts
    shares = {share.word: share for share in twin.explain(TEXT, [0])[0].words}
    assert {word: share.known_by for word, share in shares.items() if share.known_by != "word"} == {
        "zzyzx": "nothing",
        "apples": "pieces",
    }
    assert shares["apples"].value != 0
    (cosine,) = twin.text_vectors([TEXT]) @ twin.vectors.labels[0]
    assert math.fsum(s.value for s in shares.values()) == pytest.approx(cosine * twin.vectors.scale, abs=1e-4)


def test_label_matcher_splits_the_cosine_over_the_words_that_are_shared():
    model = fitted(LabelMatcher())
    top = model.predict([TEXT], 2)
    for label, score, reasons in zip(
        top.ids[0], top.scores[0], model.explain(TEXT, top.ids[0].tolist()), strict=True
    ):
        assert reasons.total == pytest.approx(score)
        assert [share.word for share in reasons.words if share.value] == [TOPICS[label]]


@pytest.mark.parametrize("text", ["", "   ", "zzyzx"])
def test_a_text_without_known_words_has_a_bias_at_most(linear, twin, text):
    assert {reasons.total for reasons in twin.explain(text, [0, 1])} == {0}
    for reasons in linear.explain(text, [0, 1]):
        assert reasons.total == reasons.bias != 0
        assert [share.known_by for share in reasons.words] == ["nothing"] * len(split_words(text))


@pytest.mark.parametrize(
    "text", ["", " ", "Zero-waste HOME: l'été №1", "snake_case\n日本語 テキスト", "İstanbul ΟΔΟΣ", "🎉"]
)
def test_the_segments_of_a_text_are_the_text_and_hold_its_words(text):
    segments = word_segments(text)
    assert "".join(segment for segment, _ in segments) == text
    assert [word for _, words in segments for word in words] == split_words(text)


def test_a_word_counts_once_however_often_it_occurs():
    assert [share.word for share in word_shares("red RED hat", {"red": 1.0})] == ["red", "hat"]
