"""top_k_of_scores: equality with sorting, ties, exclusions, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from tailwright.evaluation import TopK, top_k_of_scores


def literal_top_k(
    scored: list[list[tuple[int, float]]], k: int, excluded: np.ndarray
) -> tuple[list[list[int]], list[list[float]]]:
    """Sort by score descending, then id ascending; cut; pad."""
    ids, scores = [], []
    for row, pairs in enumerate(scored):
        best = sorted(((-score, label) for label, score in pairs if not excluded[row, label]))[:k]
        ids.append([label for _, label in best] + [-1] * (k - len(best)))
        scores.append([-score for score, _ in best] + [-np.inf] * (k - len(best)))
    return ids, scores


SHAPES = st.tuples(st.integers(1, 5), st.integers(1, 12))
SCORES = st.sampled_from([-np.inf, -2.5, -1.0, 0.0, 0.25, 0.5, 3.0])


@given(st.data(), SHAPES, st.integers(1, 15), st.sampled_from([np.float32, np.float64]))
def test_dense_and_sparse_rankings_equal_sorting(
    data: st.DataObject, shape: tuple[int, int], k: int, dtype: type
) -> None:
    block = data.draw(arrays.arrays(dtype, shape, elements=SCORES))
    excluded = data.draw(arrays.arrays(bool, shape))
    stored = data.draw(arrays.arrays(bool, shape))
    pairs = sparse.csr_array(excluded.astype(np.float32))

    found = top_k_of_scores(block, k, pairs)
    ids, scores = literal_top_k([list(enumerate(row.tolist())) for row in block], k, excluded)
    assert found.ids.tolist() == ids
    assert found.scores.tolist() == scores

    rows, labels = np.nonzero(stored)
    reverse = np.lexsort((-labels, rows))  # stored from the last label to the first: order must not matter
    indptr = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
    matrix = sparse.csr_array((block[rows, labels][reverse], labels[reverse], indptr), shape=shape)
    found = top_k_of_scores(matrix, k, pairs)
    ids, scores = literal_top_k(
        [[(j, float(block[i, j])) for j in np.flatnonzero(stored[i])] for i in range(shape[0])], k, excluded
    )
    assert found.ids.tolist() == ids
    assert found.scores.tolist() == scores


def test_a_stored_zero_is_a_prediction_and_outranks_a_negative_score() -> None:
    matrix = sparse.csr_array((np.array([-1.0, 0.0]), np.array([0, 2]), np.array([0, 2])), shape=(1, 4))
    assert top_k_of_scores(matrix, 3).ids.tolist() == [[2, 0, -1]]


def test_scores_that_differ_in_float64_only_are_not_a_tie() -> None:
    block = np.array([[1.0, 1.0 + 1e-12]])
    found = top_k_of_scores(block, 2)
    assert found.ids.tolist() == [[1, 0]]
    assert found.scores.dtype == np.float32


def test_integer_and_half_precision_scores_are_ranked() -> None:
    assert top_k_of_scores(np.array([[3, 7, 5]]), 2).ids.tolist() == [[1, 2]]
    assert top_k_of_scores(np.array([[3, 7, 5]], dtype=np.float16), 2).ids.tolist() == [[1, 2]]


def test_excluded_pairs_leave_before_the_cut() -> None:
    block = np.array([[0.9, 0.8, 0.7]])
    found = top_k_of_scores(block, 2, sparse.csr_array(np.array([[1, 0, 0]])))
    assert found.ids.tolist() == [[1, 2]]


def test_a_read_only_block_is_ranked() -> None:
    block = np.array([[0.1, 0.2]], dtype=np.float32)
    block.flags.writeable = False
    assert top_k_of_scores(block, 1).ids.tolist() == [[1]]


def test_blocks_concatenate_to_the_ranking_of_the_whole() -> None:
    block = np.random.default_rng(0).random((7, 9), dtype=np.float32)
    whole = top_k_of_scores(block, 4)
    parts = TopK.concat([top_k_of_scores(block[:3], 4), top_k_of_scores(block[3:], 4)])
    assert (len(parts), parts.k) == (7, 4)
    assert np.array_equal(parts.ids, whole.ids)
    assert np.array_equal(parts.scores, whole.scores)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_nan_is_refused_even_where_it_is_excluded(as_sparse: bool) -> None:
    block = np.array([[0.5, 0.5], [np.nan, 0.5]])
    scores = sparse.csr_array(block) if as_sparse else block
    with pytest.raises(ValueError, match="row 1 has a score that is NaN"):
        top_k_of_scores(scores, 1, sparse.csr_array(np.array([[0, 0], [1, 0]])))


def test_a_label_scored_twice_is_refused() -> None:
    twice = sparse.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    with pytest.raises(ValueError, match="scores stores the same label twice in a row"):
        top_k_of_scores(twice, 1)


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="k must be >= 1, got 0"):
        top_k_of_scores(np.ones((1, 2)), 0)
    with pytest.raises(ValueError, match=r"scores must be \(rows, labels\), got shape \(2,\)"):
        top_k_of_scores(np.ones(2), 1)
    with pytest.raises(ValueError, match=r"excluded has shape \(2, 2\), expected \(1, 2\)"):
        top_k_of_scores(np.ones((1, 2)), 1, sparse.csr_array((2, 2)))
    with pytest.raises(ValueError, match=r"scores has shape \(1, 1\), expected \(1, 2\)"):
        TopK(np.array([[0, 1]]), np.ones((1, 1)))
    with pytest.raises(ValueError, match="ids must be integers"):
        TopK(np.array([[0.0]]), np.ones((1, 1)))
