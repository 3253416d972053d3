"""What a fusion looks at equals what a plain reading of the page gives, pair by pair."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.evaluation.ranking import TopK
from tailwright.models.fusion.combination import BELOW, FEATURES_A_PART, SMALLEST, candidates_of

# What a part says of one text: labels with scores, best first.
Said = list[tuple[int, float]]


def top_k(said: list[Said], k: int) -> TopK:
    ids, scores = np.full((len(said), k), -1, np.int32), np.full((len(said), k), -np.inf, np.float32)
    for row, named in enumerate(said):
        for place, (label, score) in enumerate(named):
            ids[row, place], scores[row, place] = label, score
    return TopK(ids, scores)


def plainly(parts: list[list[Said]], log_odds: list[bool], counts: list[int]) -> dict[tuple[int, int], list]:
    """Features by (text, label), straight from the words of the page."""
    found = {}
    for text in range(len(parts[0])):
        for label in sorted({label for part in parts for label, _ in part[text]}):
            features = []
            for part, as_they_are in zip(parts, log_odds, strict=True):
                named = {
                    one: score if as_they_are else math.log(max(score, SMALLEST)) for one, score in part[text]
                }
                total = math.log(sum(map(math.exp, named.values()))) if named else 0
                score = named.get(label, min(named.values()) - BELOW if named else 0)
                places = [one for one, _ in part[text]]
                place = 1 / (1 + places.index(label)) if label in named else 0
                features += [score, score - total, float(label not in named), place]
            found[text, label] = [*features, math.log(1 + counts[label]), 0, 0, 0]  # no label stands there
    return found


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[list[Said]], list[bool], list[int], int]:
    """Parts of both kinds, texts that a part says nothing of, labels without rows; and a k for all of it."""
    labels, texts, k = draw(st.integers(1, 9)), draw(st.integers(1, 4)), draw(st.integers(1, 6))
    log_odds = draw(st.lists(st.booleans(), min_size=1, max_size=3))
    ids = st.lists(st.integers(0, labels - 1), unique=True, max_size=min(k, labels))

    def said(as_log_odds: bool) -> Said:
        named = draw(ids)
        score = st.floats(-9, 9, width=32) if as_log_odds else st.floats(0, 1, width=32)
        scores = draw(st.lists(score, min_size=len(named), max_size=len(named)))
        return list(zip(named, sorted(scores, reverse=True), strict=True))

    parts = [[said(kind) for _ in range(texts)] for kind in log_odds]
    counts = draw(st.lists(st.integers(0, 10**6), min_size=labels, max_size=labels))
    return parts, log_odds, counts, k


@given(cases())
def test_features_are_what_the_page_says(case):
    parts, log_odds, counts, k = case
    found = candidates_of([top_k(part, k) for part in parts], log_odds, np.array(counts))
    expected = plainly(parts, log_odds, counts)
    assert found.texts == len(parts[0])
    # Ascending by text and label, each pair once.
    assert list(zip(found.rows.tolist(), found.labels.tolist(), strict=True)) == sorted(expected)
    assert found.features.dtype == np.float32
    if expected:
        np.testing.assert_allclose(found.features, list(expected.values()), rtol=1e-4, atol=1e-4)


def test_a_label_that_a_part_did_not_name_stands_just_below_its_last():
    one, other = top_k([[(4, 2.0), (1, 1.0)]], 3), top_k([[(3, 0.5)]], 3)
    found = candidates_of([one, other], [True, False], np.array([9, 0, 0, 99, 0]))
    assert found.labels.tolist() == [1, 3, 4]
    unnamed = found.features[1, :FEATURES_A_PART]
    total = math.log(math.exp(2) + math.exp(1))
    assert unnamed.tolist() == pytest.approx([1 - BELOW, 1 - BELOW - total, 1, 0])
    assert found.features[1, FEATURES_A_PART:].tolist() == pytest.approx(
        [math.log(0.5), 0, 0, 1, math.log(100), 0, 0, 0]
    )


def test_a_part_that_says_nothing_of_a_text_says_the_same_of_all_its_labels():
    silent, other = top_k([[], [(0, 3.0)]], 2), top_k([[(2, 0.9), (1, 0.1)], []], 2)
    found = candidates_of([silent, other], [True, False], np.array([1, 1, 1]))
    assert found.features[:2, :FEATURES_A_PART].tolist() == [[0, 0, 1, 0]] * 2
    assert found.features[2, FEATURES_A_PART : 2 * FEATURES_A_PART].tolist() == [0, 0, 1, 0]


def test_nothing_named_at_all_gives_no_candidates():
    found = candidates_of([top_k([[], []], 2)] * 2, [True, False], np.array([1, 1]))
    assert (found.texts, len(found.rows), found.features.shape) == (2, 0, (0, 2 * FEATURES_A_PART + 4))


def test_ids_of_many_texts_over_many_labels_do_not_overflow():
    labels, texts = 3_000_000, 2000
    top = TopK(np.full((texts, 1), labels - 1, np.int32), np.ones((texts, 1), np.float32))
    found = candidates_of([top], [True], np.ones(labels, np.int64))
    assert found.rows.tolist() == list(range(texts))
    assert (found.labels == labels - 1).all()
