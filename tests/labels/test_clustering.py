"""Balanced clusters: equal sizes, like with like, seeded; and the label vectors they are made of."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tailwright.labels import balanced_clusters, pifa
from tailwright.labels.vectors import unit_rows


def vectors_of(labels: int, columns: int = 8, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((labels, columns)).astype(np.float32)


@given(st.integers(1, 70), st.integers(1, 40), st.integers(0, 100), st.booleans())
def test_sizes_differ_by_at_most_one_and_every_cluster_is_used(labels, clusters, seed, as_sparse):
    vectors = vectors_of(labels, 3, seed)
    found = balanced_clusters(sparse.csr_array(vectors) if as_sparse else vectors, clusters, seed=seed)
    sizes = np.bincount(found)
    assert found.dtype == np.int32
    assert len(sizes) == min(1 << (clusters - 1).bit_length(), labels)
    assert sizes.max() - sizes.min() <= 1


def test_labels_that_point_the_same_way_are_found():
    random = np.random.default_rng(0)
    topic = random.permutation(np.repeat(np.arange(8), 16))
    vectors = np.eye(8)[topic] * 3 + random.random((128, 8)) * 0.3
    # Random seeds may fall into one topic, so one tree alone need not find all of them.
    purity = []
    for seed in range(5):
        found = balanced_clusters(sparse.csr_array(vectors), 8, seed=seed)
        purity.append(np.mean([np.bincount(topic[found == c]).max() / 16 for c in range(8)]))
    assert max(purity) == 1
    assert min(purity) > 0.5


def test_only_directions_count():
    vectors = vectors_of(40)
    # Powers of two scale without rounding.
    longer = vectors * 2.0 ** np.random.default_rng(1).integers(-3, 4, (40, 1))
    assert balanced_clusters(vectors, 8).tolist() == balanced_clusters(longer, 8).tolist()


def test_sparse_and_dense_vectors_give_the_same_clusters():
    vectors = vectors_of(100) * (vectors_of(100, seed=1) > 0)
    vectors[:, 0] += 2
    assert (
        balanced_clusters(vectors, 16).tolist() == balanced_clusters(sparse.csr_array(vectors), 16).tolist()
    )


def test_a_seed_gives_one_clustering_and_another_seed_another():
    vectors = vectors_of(64)
    first = balanced_clusters(vectors, 8, seed=1)
    assert first.tolist() == balanced_clusters(vectors, 8, seed=1).tolist()
    assert first.tolist() != balanced_clusters(vectors, 8, seed=2).tolist()


def test_the_number_of_threads_makes_no_difference():
    vectors = sparse.csr_array(vectors_of(500))
    before = numba.get_num_threads()
    whole = balanced_clusters(vectors, 64)
    try:
        numba.set_num_threads(1)
        assert balanced_clusters(vectors, 64).tolist() == whole.tolist()
    finally:
        numba.set_num_threads(before)


def test_empty_vectors_and_no_labels_are_fine():
    found = balanced_clusters(sparse.csr_array((10, 4), dtype=np.float32), 4)
    assert sorted(np.bincount(found)) == [2, 2, 3, 3]
    assert balanced_clusters(np.empty((0, 3)), 4).tolist() == []
    assert balanced_clusters(vectors_of(1), 4).tolist() == [0]


def test_the_input_stays_as_it_is():
    vectors = sparse.csr_array(vectors_of(9))
    vectors.data.flags.writeable = False
    copy = vectors.toarray()
    balanced_clusters(vectors, 4)
    assert np.array_equal(vectors.toarray(), copy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clusters": 0}, "clusters must be >= 1, got 0"),
        ({"iterations": 0}, "iterations must be >= 1, got 0"),
        ({"tolerance": float("nan")}, "tolerance must be >= 0, got nan"),
        (
            {"vectors": np.array([[np.inf], [0], [1]])},
            "vectors must be finite; a lower learning rate may help",
        ),
        ({"vectors": np.zeros(3)}, "vectors must have two dimensions, got 1"),
    ],
)
def test_wrong_arguments_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        balanced_clusters(**{"vectors": np.ones((3, 1)), "clusters": 2, **change})


def test_pifa_is_the_mean_direction_of_a_labels_rows():
    features = np.array([[3.0, 4, 0], [0, 0, 2], [0, 0, 0], [5, 0, 0]])
    targets = np.array([[1, 0, 0, 0], [1, 0.5, 0, 0], [0, 0, 1, 0], [0, 0.5, 0, 0]])
    found = pifa(sparse.csr_array(targets), sparse.csr_array(features))
    expected = np.array([[0.6, 0.8, 1], [0.5, 0, 0.5], [0, 0, 0], [0, 0, 0]])
    expected[:2] /= np.linalg.norm(expected[:2], axis=1, keepdims=True)
    assert found.dtype == np.float32
    assert np.allclose(found.toarray(), expected)


def test_pifa_needs_a_row_of_features_for_each_row_of_targets():
    with pytest.raises(ValueError, match="targets has 2 rows, features has 3"):
        pifa(sparse.csr_array((2, 4)), sparse.csr_array((3, 5)))


@given(st.integers(0, 6), st.integers(1, 5), st.integers(0, 50))
def test_unit_rows_are_the_same_sparse_and_dense(rows, columns, seed):
    random = np.random.default_rng(seed)
    dense = random.standard_normal((rows, columns)) * (random.random((rows, columns)) < 0.4)
    found = unit_rows(sparse.csr_array(dense))
    lengths = np.linalg.norm(dense, axis=1, keepdims=True)
    expected = np.divide(dense, lengths, where=lengths > 0, out=np.zeros_like(dense))
    assert np.allclose(found.toarray(), expected, atol=1e-6)
    assert np.allclose(unit_rows(dense), expected, atol=1e-6)
