"""Beams over clusters: what they hold, what rows learn of it, and how scores are put together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tailwright.data.batch_targets import BatchTargets
from tailwright.evaluation.ranking import TopK
from tailwright.heads.cluster_beam import (
    BeamCandidates,
    BeamHead,
    best_clusters,
    combined,
    log_sigmoid,
    mean_probabilities,
    neighbour_table,
    traversed,
)

CLUSTER_OF = np.array([1, 0, 0, 1, -1], dtype=np.int32)


def targets(*rows: dict[int, float], ignored: tuple[int, ...] = ()) -> BatchTargets:
    """Rows of label and value; the last row ignores these labels."""
    starts = np.cumsum([0, *map(len, rows)])
    labels = np.array([label for row in rows for label in row], dtype=np.int32)
    values = np.array([value for row in rows for value in row.values()], dtype=np.float32)
    ignored_starts = np.array([0] * len(rows) + [len(ignored)])
    return BatchTargets(
        starts, labels, values, ignored_starts, np.array(ignored, np.int32), np.ones(len(rows), np.float32)
    )


def drawn(lists) -> list[dict[int, float]]:
    return [
        dict(zip(lists.labels[start:end].tolist(), lists.targets[start:end].round(3).tolist(), strict=True))
        for start, end in zip(lists.starts[:-1], lists.starts[1:], strict=True)
    ]


def test_candidates_are_the_labels_of_the_clusters_with_their_soft_targets():
    candidates = BeamCandidates(CLUSTER_OF, 2, adds_missed=False, binary=False)
    lists = candidates(targets({0: 0.5, 1: 1.0}, {2: 0.25}), np.array([[1, -1], [0, 1]], dtype=np.int32))
    assert drawn(lists) == [{0: 0.5, 3: 0.0}, {1: 0.0, 2: 0.25, 0: 0.0, 3: 0.0}]


def test_positives_that_the_clusters_do_not_hold_can_be_added():
    candidates = BeamCandidates(CLUSTER_OF, 2, adds_missed=True, binary=False)
    lists = candidates(targets({1: 1.0, 4: 0.5}), np.array([[1]], dtype=np.int32))
    assert drawn(lists) == [{1: 1.0, 4: 0.5, 0: 0.0, 3: 0.0}]


def test_binary_targets_are_1():
    candidates = BeamCandidates(CLUSTER_OF, 2, adds_missed=False, binary=True)
    lists = candidates(targets({0: 0.5}), np.array([[1]], dtype=np.int32))
    assert drawn(lists) == [{0: 1.0, 3: 0.0}]


def test_ignored_labels_are_no_candidates():
    candidates = BeamCandidates(CLUSTER_OF, 2, adds_missed=True, binary=False)
    lists = candidates(targets({0: 1.0}, ignored=(0,)), np.array([[1]], dtype=np.int32))
    assert drawn(lists) == [{3: 0.0}]


@pytest.mark.parametrize(("most", "expected"), [(None, [0, 3, 4]), (2, [0, 3])])
def test_neighbours_enter_behind_the_labels_of_the_clusters_as_long_as_there_is_room(most, expected):
    graph = sparse.csr_array(np.eye(5) + np.eye(5, k=1))
    candidates = BeamCandidates(
        CLUSTER_OF, 2, adds_missed=False, binary=False, neighbours=neighbour_table(graph), most=most
    )
    lists = candidates(targets({4: 1.0}), np.array([[1]], dtype=np.int32))
    found = lists.labels.tolist()
    assert found[:2] == [0, 3]
    assert set(expected) <= set(found)
    assert len(found) == (most or 4)


def test_the_best_clusters_have_the_logarithm_of_their_probability():
    top = best_clusters(np.array([[1.0, 2.0]], np.float32), np.eye(2, dtype=np.float32), 5)
    assert top.ids.tolist() == [[1, 0]]
    np.testing.assert_allclose(top.scores, np.log(1 / (1 + np.exp(-np.array([[2.0, 1.0]])))), rtol=1e-6)


def test_the_score_is_the_product_of_the_probabilities_of_cluster_and_label():
    inherited = TopK(np.array([[0, -1]]), np.log(np.array([[0.5, 0.5]])))
    both = combined(inherited, np.array([[0.0, 0.0]]))
    np.testing.assert_allclose(np.exp(both.scores), [[0.25, 0]])


def test_large_logits_do_not_overflow():
    np.testing.assert_allclose(log_sigmoid(np.array([-1000.0, 0, 1000])), [-1000, np.log(0.5), 0])


def test_the_best_labels_are_those_of_the_clusters():
    clusters = np.array([[0, 3], [0, -3]], dtype=np.float32)  # biases alone
    labels = np.stack([np.zeros(5), np.arange(5)], 1).astype(np.float32)
    head = BeamHead(clusters, labels, CLUSTER_OF)
    query = np.zeros((1, 1), np.float32)
    assert head.best_labels(head.best_clusters(query, 1), query, 3).ids.tolist() == [[2, 1, -1]]
    assert head.best_labels(head.best_clusters(query, 2), query, 4).ids.tolist() == [[2, 1, 3, 0]]


def test_learners_are_averaged_by_probability():
    one = TopK(np.array([[0, 1]]), np.log(np.array([[0.8, 0.2]])))
    other = TopK(np.array([[1, -1]]), np.array([[np.log(0.9), -np.inf]]))
    top = mean_probabilities([one, other], 2, 2)
    assert top.ids.tolist() == [[1, 0]]
    np.testing.assert_allclose(top.scores, [[0.55, 0.4]], rtol=1e-6)


def test_traversal_gives_half_of_the_probabilities_to_the_best_neighbours():
    top = TopK(np.array([[2, 0]]), np.log(np.array([[0.8, 0.4]])))
    graph = sparse.csr_array(np.array([[0, 0.5, 0], [0, 0, 0], [0, 0.25, 1.0]], dtype=np.float32))
    found = traversed(top, graph, 1)
    # P G = (0, 0.4, 0.8), of which the best one is kept.
    assert found.ids.tolist() == [[2, 0, -1]]
    np.testing.assert_allclose(np.exp(found.scores), [[0.8, 0.2, 0]], rtol=1e-6)
    wider = traversed(top, graph, 2)
    assert wider.ids.tolist() == [[2, 0, 1, -1]]
    np.testing.assert_allclose(np.exp(wider.scores[0, :3]), [0.8, 0.2, 0.2], rtol=1e-6)


def test_traversal_over_no_edges_but_to_themselves_changes_nothing():
    top = TopK(np.array([[1, 0, -1]]), np.array([[-0.5, -2.0, -np.inf]]))
    found = traversed(top, sparse.eye_array(3, format="csr", dtype=np.float32), 3)
    assert found.ids[0, :3].tolist() == [1, 0, -1]
    np.testing.assert_allclose(found.scores[0, :2], [-0.5, -2.0], rtol=1e-5)
