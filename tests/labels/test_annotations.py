"""Soft annotations and the normalised graph: the papers' formulas, with every division guarded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from labels.plain_graph import random_targets
from scipy import sparse

from tailwright.labels import correlation_graph, soft_annotations

GRAPHS = st.integers(1, 6).flatmap(
    lambda n: arrays.arrays(np.float32, (n, n), elements=st.sampled_from([0, 0, 1, 3, 4, 10, 40]))
)


@given(GRAPHS, st.sampled_from([0, 0.1, 0.5]))
def test_annotations_equal_the_formula(graph, threshold):
    expected = np.zeros(graph.shape, dtype=np.float32)
    for label, row in enumerate(graph.astype(np.float64)):
        if row[label] == 0:
            expected[label, label] = 1
        else:
            shares = row / row[label]
            expected[label] = np.where(shares > threshold, np.minimum(shares, 1), 0)
    found = soft_annotations(sparse.csr_array(graph), threshold)
    assert found.toarray().tolist() == expected.tolist()
    assert found.nnz == np.count_nonzero(expected)
    assert found.dtype == np.float32
    assert found.has_canonical_format


def test_the_threshold_is_strict():
    graph = sparse.csr_array(np.array([[400, 40, 41], [0, 1, 0], [0, 0, 1]], dtype=np.float32))
    assert soft_annotations(graph, 0.1).toarray()[0].tolist() == [1, 0, np.float32(0.1025)]


@pytest.mark.parametrize("method", ["walk", "series"])
def test_of_a_graph_they_are_1_on_the_diagonal_above_the_threshold_and_few(method):
    targets = random_targets(300, 60, 3)
    found = soft_annotations(correlation_graph(targets, head_cut=50, method=method))
    assert found.diagonal().tolist() == [1] * 60
    assert 0.1 < found.data.min() < found.data.max() == 1
    assert np.diff(found.indptr).max() <= 11
    heads = np.bincount(targets.indices, minlength=60) > 50
    assert heads.any()
    assert np.diff(found.indptr)[heads].tolist() == [1] * heads.sum()


@pytest.mark.parametrize("threshold", [-0.1, 1.0, float("nan")])
def test_a_wrong_threshold_is_named(threshold):
    with pytest.raises(ValueError, match=r"threshold must be in \[0, 1\), got"):
        soft_annotations(sparse.csr_array(np.eye(2)), threshold)


def test_what_is_no_graph_is_refused():
    with pytest.raises(ValueError, match=r"as many rows as columns, got shape \(2, 3\)"):
        soft_annotations(sparse.csr_array((2, 3)))
    for weight in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match="finite weights >= 0"):
            soft_annotations(sparse.csr_array(np.array([[weight]])))


def test_the_graph_itself_stays_as_it_is():
    graph = sparse.csr_array(np.array([[2, 1], [0, 0]], dtype=np.float32))
    for array in (graph.data, graph.indices, graph.indptr):
        array.flags.writeable = False
    soft_annotations(graph)
    assert graph.toarray().tolist() == [[2, 1], [0, 0]]
