"""The inverted index finds what all products find."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tailwright.data.pairs import csr_arrays
from tailwright.heads.inverted_index import FEWEST_ROWS, InvertedIndex


def nearest(queries: np.ndarray, index: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    top = InvertedIndex(sparse.csr_array(index)).top_k(csr_arrays(sparse.csr_array(queries)), k)
    return top.ids, top.scores


def plain_nearest(queries: np.ndarray, index: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The same by a dense product and a full sort."""
    ids = np.full((len(queries), k), -1, dtype=np.int32)
    scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
    for row, query in enumerate(queries):
        products = query @ index
        shares_a_word = ((query > 0).astype(int) @ (index > 0).astype(int)) > 0
        order = [c for c in np.lexsort((np.arange(len(products)), -products)) if shares_a_word[c]][:k]
        ids[row, : len(order)] = order
        scores[row, : len(order)] = products[order]
    return ids, scores


# Eighths are exact in float32, so sums in any order are equal and ties are real ties.
values = st.sampled_from([0.0, 0.0, 0.0, 0.125, 0.25, 0.5, 1.0])


@given(st.data(), st.integers(0, 6), st.integers(1, 5), st.integers(1, 7), st.integers(1, 9))
def test_the_kernel_equals_the_plain_form(data, rows, words, columns, k):
    queries = np.array(data.draw(st.lists(values, min_size=rows * words, max_size=rows * words)), np.float32)
    index = np.array(
        data.draw(st.lists(values, min_size=words * columns, max_size=words * columns)), np.float32
    )
    queries, index = queries.reshape(rows, words), index.reshape(words, columns)
    found = nearest(queries, index, k)
    expected = plain_nearest(queries, index, k)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


def texts(key: int, rows: int, words: int) -> np.ndarray:
    """Rows of unit length over words of which few are in most rows, and most in few."""
    random = np.random.Generator(np.random.Philox(key=key))
    shares = 0.9 / np.arange(1, words + 1)
    weights = (random.random((rows, words)) < shares) * (1 - np.log(shares)) * random.uniform(0.5, 1.5, words)
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    return (weights / np.maximum(lengths, 1e-9)).astype(np.float32)


@pytest.mark.parametrize("key", range(4))
@pytest.mark.parametrize("k", [1, 5, 40])
def test_skipped_postings_make_no_difference_where_words_are_common_and_rare(key, k):
    """With enough columns most searches stop before the common words; every product is an exact sum."""
    queries, columns = texts(key, 60, 300), texts(key + 100, 3000, 300)
    ids, scores = nearest(queries, columns.T, k)
    for row, query in enumerate(queries):
        products = np.zeros(len(columns), np.float32)
        for word in np.flatnonzero(query):  # in the order of words, as the kernel sums them
            products += query[word] * columns[:, word]
        order = [c for c in np.lexsort((np.arange(len(products)), -products)) if products[c] > 0][:k]
        assert ids[row, : len(order)].tolist() == order
        assert np.array_equal(scores[row, : len(order)], products[order])
        assert (ids[row, len(order) :] == -1).all()


def test_columns_that_differ_in_the_last_digit_are_told_apart():
    """A bound that left rounding out of account would lose some of them."""
    columns = np.repeat(texts(7, 1, 300), 2000, axis=0)
    columns[:, 0] *= 1 + np.float32(1e-6) * np.random.default_rng(0).permutation(2000)
    ids, scores = nearest(columns[:1], columns.T, 10)
    expected = plain_nearest(columns[:1].astype(np.float64), columns.T.astype(np.float64), 2000)
    assert set(ids[0].tolist()) <= set(expected[0][0, :40].tolist())
    assert (np.diff(scores[0]) <= 0).all()


def test_a_query_or_an_index_without_words_gives_padding():
    empty = np.zeros((3, 4), np.float32)
    assert (nearest(empty, np.ones((4, 2), np.float32), 2)[0] == -1).all()
    assert (nearest(np.ones((3, 4), np.float32), empty.T[:, :2], 2)[0] == -1).all()
    assert nearest(empty[:0], np.ones((4, 2), np.float32), 2)[0].shape == (0, 2)


def test_a_value_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match="not > 0"):
        InvertedIndex(sparse.csr_array(np.array([[1.0, -0.5]], np.float32)))


@pytest.mark.parametrize("threads", [1, 2])
def test_the_number_of_threads_makes_no_difference(threads):
    queries, columns = texts(1, 5 * FEWEST_ROWS, 30), texts(2, 40, 30)
    before = numba.get_num_threads()
    whole = nearest(queries, columns.T, 5)
    try:
        numba.set_num_threads(min(threads, before))
        limited = nearest(queries, columns.T, 5)
    finally:
        numba.set_num_threads(before)
    assert np.array_equal(whole[0], limited[0])
    assert np.array_equal(whole[1], limited[1])
