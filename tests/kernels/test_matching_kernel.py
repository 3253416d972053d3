"""Nearest rows by inverted index: equal to the plain dense form."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tailwright.kernels.shortlist import nearest_rows


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
    found = nearest_rows(sparse.csr_array(queries), sparse.csr_array(index), k)
    expected = plain_nearest(queries, index, k)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


@pytest.mark.parametrize("threads", [1, 2])
def test_the_number_of_threads_makes_no_difference(threads):
    random = np.random.default_rng(0)
    queries = sparse.random_array((50, 30), density=0.2, rng=random, format="csr", dtype=np.float32)
    index = sparse.random_array((30, 40), density=0.2, rng=random, format="csr", dtype=np.float32)
    before = numba.get_num_threads()
    whole = nearest_rows(queries, index, 5)
    try:
        numba.set_num_threads(min(threads, before))
        limited = nearest_rows(queries, index, 5)
    finally:
        numba.set_num_threads(before)
    assert np.array_equal(whole[0], limited[0])
    assert np.array_equal(whole[1], limited[1])
