"""A label's text behind a row's text, as bags: what the features would make of the joined text."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tailwright.encoders.bags import Bags
from tailwright.encoders.joined_bags import BagJoiner
from tailwright.encoders.subwords import SubwordSettings, SubwordTfIdf
from tailwright.kernels.tfidf import join_bags
from tailwright.streams import stream

ROWS = [
    "CreateFile function",
    "files, files! handle",
    "",
    "日本語 été",
    "a function of a file",
    "knock knock",
    "unrelated matters",
]
LABELS = ["file handle", "function function of", "", "unrelated", "knock"]
SETTINGS = SubwordSettings(length=4, weight=0.5)


def fitted(settings: SubwordSettings = SETTINGS) -> tuple[SubwordTfIdf, Bags, Bags]:
    features, matrix = SubwordTfIdf.fit_transform([*ROWS, *LABELS], settings)
    every = Bags.of(matrix)
    return features, every.slice(0, len(ROWS)), every.slice(len(ROWS), len(every))


def dense(bags: Bags, columns: int) -> np.ndarray:
    return sparse.csr_array((bags.weights, bags.words, bags.indptr), (len(bags), columns)).toarray()


def plain_join(text: np.ndarray, other: np.ndarray, idf: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """The twin of the kernel for one row: dense weights in, dense weights of the joined text out."""
    out = np.zeros(len(idf))
    for start, end in pairwise(kinds):
        counts = np.zeros(end - start)
        for weights in (text[start:end], other[start:end]):
            ratio = weights.astype(np.float64) / idf[start:end]
            if ratio.any():
                counts += np.where(ratio > 0, np.exp(ratio / ratio[ratio > 0].min() - 1), 0)
        raw = np.where(counts > 0, (1 + np.log(np.where(counts > 0, counts, 1))) * idf[start:end], 0)
        length = max(np.linalg.norm(text[start:end]), np.linalg.norm(other[start:end]))
        out[start:end] = raw * (length / np.linalg.norm(raw)) if raw.any() else 0
    return out


@pytest.mark.parametrize("length", [0, 3, 4])
def test_a_joined_bag_is_the_features_of_the_joined_text(length):
    features, rows, labels = fitted(SubwordSettings(length=length, weight=0.5))
    joiner = BagJoiner.of(features, rows, labels)
    kept = [row for row, text in enumerate(ROWS) if text != "knock knock"]
    for label, text in enumerate(LABELS):
        found = dense(joiner.take(np.array(kept), np.full(len(kept), label)), features.columns)
        expected = features.transform([f"{ROWS[row]} {text}" for row in kept]).toarray()
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)


@given(
    st.lists(st.sampled_from(["files", "handle", "function", "of", "knock"]), max_size=6),
    st.sampled_from(LABELS),
)
def test_it_is_so_wherever_a_word_of_each_kind_occurs_once(chosen, label):
    features, _, labels = fitted()
    text = " ".join([*chosen, "unrelated"])
    joiner = BagJoiner.of(features, Bags.of(features.transform([text])), labels)
    found = joiner.take(np.array([0]), np.array([LABELS.index(label)]))
    expected = features.transform([f"{text} {label}"]).toarray()
    np.testing.assert_allclose(dense(found, features.columns), expected, rtol=2e-5, atol=1e-6)


def test_a_text_whose_every_word_repeats_counts_as_if_the_rarest_occurred_once():
    features, rows, labels = fitted()
    joiner = BagJoiner.of(features, rows, labels)
    found = joiner.take(np.array([ROWS.index("knock knock")]), np.array([LABELS.index("file handle")]))
    expected = features.transform(["knock file handle"]).toarray()
    np.testing.assert_allclose(dense(found, features.columns), expected, rtol=2e-5, atol=1e-6)


def test_rows_without_an_appended_text_are_copied_bit_for_bit():
    features, rows, labels = fitted()
    joiner = BagJoiner.of(features, rows, labels)
    picked = np.array([4, 0, 1, 2, 0])
    alone = joiner.take(picked, np.full(5, -1))
    some = joiner.take(picked, np.array([-1, 0, -1, -1, -1]))
    expected = rows.take(picked)
    for bags, kept in ((alone, [0, 1, 2, 3, 4]), (some, [0, 2, 3, 4])):
        np.testing.assert_array_equal(bags.take(np.array(kept)).words, expected.take(np.array(kept)).words)
        np.testing.assert_array_equal(
            bags.take(np.array(kept)).weights, expected.take(np.array(kept)).weights
        )
    assert (np.diff(some.indptr) > np.diff(expected.indptr)).tolist() == [False, True, False, False, False]


def test_each_kind_keeps_the_length_that_the_features_give_it():
    features, rows, labels = fitted()
    joined = dense(
        BagJoiner.of(features, rows, labels).take(np.array([0, 4]), np.array([0, 1])), features.columns
    )
    words = len(features.words.vocabulary)
    np.testing.assert_allclose(np.linalg.norm(joined[:, :words], axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(joined[:, words:], axis=1), 0.5, rtol=1e-6)


@given(st.integers(0, 2**32 - 1))
def test_the_kernel_agrees_with_its_plain_twin(seed):
    random = stream(seed, "joined-bags")
    columns = 8
    idf = random.uniform(1, 5, columns)
    kinds = np.array([0, 3, columns])

    def bags(count: int) -> np.ndarray:
        weights = random.uniform(0.1, 1, (count, columns)).astype(np.float32)
        return np.where(random.random((count, columns)) < 0.5, weights, 0).astype(np.float32)

    texts, others = bags(4), bags(3)
    rows, appended = random.integers(0, 4, 6), random.integers(-1, 3, 6).astype(np.int32)
    parts = [Bags.of(sparse.csr_array(matrix)) for matrix in (texts, others)]
    mine, other = ((p.indptr, p.words, p.weights) for p in parts)
    found = dense(Bags(*join_bags(*mine, rows, *other, appended, idf, kinds)), columns)
    expected = [
        texts[row] if label < 0 else plain_join(texts[row], others[label], idf, kinds)
        for row, label in zip(rows, appended, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
