"""Clusters of labels for a surrogate task: how many, what labels are described by, and who is in none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tailwright.data.dataset import Dataset, Origin, arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.labels import GraphSettings
from tailwright.labels.surrogate_clusters import cluster_count, label_clusters, label_vectors

PLAIN = {"graph": GraphSettings(steps=50, restart=0.2, top=10), "seed": 0}


@pytest.mark.parametrize(
    ("labels", "wanted", "labels_each", "count"),
    [
        (1, 65_536, 2.5, 1),
        (4, 65_536, 2.5, 1),
        (5, 65_536, 2.5, 2),
        (41_673, 65_536, 2.5, 16_384),
        (41_673, 5000, 2.5, 4096),
        (131_073, 65_536, 2.5, 32_768),
        (131_073, 65_536, 2, 65_536),  # what the paper has
    ],
)
def test_clusters_are_a_power_of_two_and_hold_some_labels_each(labels, wanted, labels_each, count):
    assert cluster_count(labels, wanted, labels_each) == count


def test_there_are_never_more_clusters_than_the_paper_has():
    assert cluster_count(3_000_000, 10**6, 1) == 65_536


def test_label_vectors_come_from_original_rows_and_from_others_where_there_are_none():
    targets = pairs_from_lists([[0], [0], [0, 1]], 3)
    data = Dataset(
        arrow_strings(["a", "b", "c"]),
        targets,
        origin=Origin.concat([Origin.originals(2), Origin.made_by("gandalf", np.array([1]))]),
    )
    features = sparse.csr_array(np.eye(3, dtype=np.float32))
    vectors = label_vectors(data, features, rows="original", most_rows=0, **PLAIN).toarray()
    np.testing.assert_array_equal(vectors, [[1, 1, 0], [0, 0, 1], [0, 0, 0]])
    vectors = label_vectors(data, features, rows="all", most_rows=0, **PLAIN).toarray()
    np.testing.assert_array_equal(vectors, [[1, 1, 1], [0, 0, 1], [0, 0, 0]])


def test_smoothing_shares_the_rows_of_labels_that_occur_together():
    data = Dataset(arrow_strings(["a", "b", "c"]), pairs_from_lists([[0, 1], [0], [2]], 3))
    features = sparse.csr_array(np.eye(3, dtype=np.float32))
    vectors = label_vectors(data, features, rows="original", most_rows=5000, **PLAIN).toarray()
    assert vectors[1, 1] > 0  # a word of label 0's own row
    np.testing.assert_allclose(vectors[2], [0, 0, 1], rtol=1e-5)
    assert vectors[:2, 2].tolist() == [0, 0]


def test_labels_beyond_the_head_cut_of_the_graph_share_nothing():
    data = Dataset(arrow_strings(["a", "b", "c"]), pairs_from_lists([[0, 1], [0], [2]], 3))
    features = sparse.csr_array(np.eye(3, dtype=np.float32))
    graph = GraphSettings(steps=50, restart=0.2, top=10, head_cut=1)
    vectors = label_vectors(data, features, rows="original", graph=graph, most_rows=5000, seed=0).toarray()
    np.testing.assert_allclose(vectors, [[1, 1, 0], [1, 0, 0], [0, 0, 1]], rtol=1e-5)


def test_labels_without_a_vector_are_in_no_cluster():
    vectors = sparse.csr_array(np.array([[1, 0], [0, 0], [0, 1], [1, 0.1]], np.float32))
    cluster_of = label_clusters(vectors, 2, seed=0)
    assert cluster_of[1] == -1
    assert sorted(np.unique(cluster_of).tolist()) == [-1, 0, 1]
    assert cluster_of[0] == cluster_of[3]
