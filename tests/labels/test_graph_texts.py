"""Label graphs as matrices: their normalisation, their strongest edges, the graph between clusters."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tailwright.labels.correlation import symmetric_graph
from tailwright.labels.graph_texts import cluster_graph, of_similar_texts, strongest, with_self_edges
from tailwright.labels.heads_apart import clusters_apart, leaf_counts
from tailwright.streams import stream


def graph(*rows: list[float]) -> sparse.csr_array:
    return sparse.csr_array(np.array(rows, dtype=np.float32))


def test_rows_and_columns_without_edges_stay_finite():
    assert symmetric_graph(graph([0, 0], [4, 0])).toarray().tolist() == [[0, 0], [1, 0]]


def test_a_label_without_edges_gets_one_to_itself():
    assert with_self_edges(graph([0, 0], [4, 0])).toarray().tolist() == [[1, 0], [4, 0]]


def test_the_strongest_entries_of_a_row_are_those_of_a_sort():
    dense = stream(0, "graph").integers(0, 4, (20, 30)).astype(np.float32)
    kept = strongest(sparse.csr_array(dense), 5).toarray()
    for row, found in zip(dense, kept, strict=True):
        best = sorted(np.flatnonzero(row), key=lambda column: (-row[column], column))[:5]
        assert np.flatnonzero(found).tolist() == sorted(best)
        np.testing.assert_array_equal(found[best], row[best])


def test_edges_between_dissimilar_texts_go_but_not_those_to_themselves():
    vectors = np.array([[1, 0], [-1, 0], [0, 0]], dtype=np.float32)
    kept = of_similar_texts(graph([1, 2, 3], [4, 5, 6], [7, 8, 9]), vectors, 0.0)
    assert kept.toarray().tolist() == [[1, 0, 3], [0, 5, 6], [7, 8, 9]]


def test_the_edges_of_clusters_are_the_sums_of_those_of_their_labels():
    edges = cluster_graph(graph([1, 2, 3], [4, 5, 6], [7, 8, 9]), np.array([1, 0, 1]), 2, 10)
    assert edges.toarray().tolist() == [[5, 10], [10, 20]]


def test_frequent_labels_are_clustered_apart_into_as_many_leaves_as_the_papers_formula_says():
    """2^b and 2^(b - floor(log2(L / T)) - 1), for L labels of which T are frequent."""
    frequent = np.zeros(64, dtype=bool)
    frequent[:12] = True
    leaves = leaf_counts(52, 12, 16, 3.0)
    assert leaves == (16, 2 ** (4 - 2 - 1))
    cluster_of = clusters_apart(stream(0, "vectors").standard_normal((64, 5)), frequent, leaves, 0)
    sizes = np.bincount(cluster_of, minlength=sum(leaves))
    assert set(cluster_of[frequent]) == {16, 17}
    assert sizes[:16].max() - sizes[:16].min() <= 1
    assert sizes[16:].tolist() == [6, 6]


def test_a_label_without_a_vector_is_in_no_cluster():
    vectors = np.eye(8, dtype=np.float32)
    vectors[3] = 0
    cluster_of = clusters_apart(vectors, np.zeros(8, dtype=bool), (2, 0), 0)
    assert cluster_of[3] == -1
    assert (np.delete(cluster_of, 3) >= 0).all()
