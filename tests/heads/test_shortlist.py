"""Shortlists, and how scored lists are put together."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.special import expit
from torch.nn import functional

from tailwright.evaluation.ranking import TopK
from tailwright.heads.centroids import label_centroids
from tailwright.heads.shortlist import (
    Candidates,
    Shortlister,
    ShortlistSettings,
    added,
    candidate_loss,
    chances_of_largest,
    fused,
    scored,
)

# Two labels on two points each, one on a single point, one on none.
POINTS = np.array([[1, 0], [1, 0.2], [0, 1], [0.2, 1], [1, 1]], dtype=np.float32)
TARGETS = sparse.csr_array(
    np.array([[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], np.float32)
)


def top(*rows: list[tuple[int, float]]) -> TopK:
    """Lists of (label, score), padded to the longest."""
    width = max(len(row) for row in rows)
    ids = np.full((len(rows), width), -1, dtype=np.int32)
    scores = np.full((len(rows), width), -np.inf, dtype=np.float32)
    for place, row in enumerate(rows):
        for column, (label, score) in enumerate(row):
            ids[place, column], scores[place, column] = label, score
    return TopK(ids, scores)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_a_centroid_is_the_mean_of_a_labels_points_weighed_by_their_targets():
    targets = sparse.csr_array(np.array([[1.0, 0.5], [0.25, 0], [0, 0.5]], np.float32))
    points = np.array([[1, 0], [0, 1], [3, 4]], dtype=np.float32)
    found = label_centroids(points, targets)
    np.testing.assert_allclose(found.vectors, [[0.8, 0.2], [2, 2]])
    assert found.owners.tolist() == [0, 1]


def test_labels_on_very_many_points_get_centroids_in_their_midst():
    corners = np.repeat(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32), 20, axis=0)
    targets = sparse.csr_array(np.ones((60, 1), np.float32))
    found = label_centroids(corners, targets, several=3, from_points=60)
    assert found.owners.tolist() == [0, 0, 0, 0]
    np.testing.assert_allclose(found.vectors[0], [1 / 3] * 3, rtol=1e-5)
    assert len(label_centroids(corners, targets, several=3, from_points=61).owners) == 1


def test_several_centroids_of_a_label_count_with_the_nearest():
    points = np.concatenate([np.tile([[1, 0]], (4, 1)), np.tile([[0, 1]], (4, 1)), [[0.6, 0.8]]])
    targets = sparse.csr_array(np.array([[1, 0]] * 8 + [[0, 1]], np.float32))
    settings = ShortlistSettings(head_centroids=2, head_points=8, points=0)
    found = Shortlister(points.astype(np.float32), targets, settings).lists(np.array([[0, 1]], np.float32))
    assert sorted(found.ids[0][found.ids[0] >= 0].tolist()) == [0, 1]
    # The mean of label 0 lies at 45 degrees; one of its k-means centroids may lie at the query itself.
    assert found.scores[0, found.ids[0].tolist().index(0)] >= 0.7


def test_lists_merge_centroids_and_votes_by_their_weights():
    settings = ShortlistSettings(centroids=3, points=2, size=4, point_weight=0.075)
    query = np.array([[1, 0.1]], dtype=np.float32)
    found = Shortlister(POINTS, TARGETS, settings).lists(query)
    centroids = {0: POINTS[:2].mean(axis=0), 1: POINTS[2:4].mean(axis=0), 2: POINTS[4]}
    # The two nearest points both carry label 0, so its vote is the row's largest: 1.
    expected = {label: 0.925 * cosine(query[0], centroid) for label, centroid in centroids.items()}
    expected[0] += 0.075
    order = sorted(expected, key=lambda label: -expected[label])
    assert found.ids[0].tolist() == [*order, -1]
    np.testing.assert_allclose(found.scores[0, :3], [expected[label] for label in order], rtol=1e-5)


def test_without_points_a_list_is_the_similarity_to_centroids():
    found = Shortlister(POINTS, TARGETS, ShortlistSettings(points=0)).lists(POINTS[:1])
    assert found.ids[0, :3].tolist() == [0, 2, 1]
    np.testing.assert_allclose(found.scores[0, 0], cosine(POINTS[0], POINTS[:2].mean(axis=0)), rtol=1e-5)


def test_a_label_without_points_is_in_no_list():
    found = Shortlister(POINTS, TARGETS, ShortlistSettings(points=5)).lists(POINTS)
    assert 3 not in found.ids


def test_a_query_without_direction_has_an_empty_list():
    found = Shortlister(POINTS, TARGETS, ShortlistSettings()).lists(np.zeros((1, 2), np.float32))
    assert (found.ids == -1).all()


def test_beta_1_ranks_as_the_classifier_and_beta_0_as_similarity():
    classifier = top([(4, 3.0), (1, -2.0), (7, -5.0)])
    similarity = top([(1, 0.9), (8, 0.5), (4, 0.4)])
    assert fused(classifier, similarity, 1.0, 10).ids[0, :3].tolist() == [4, 1, 7]
    assert fused(classifier, similarity, 0.0, 10).ids[0, :3].tolist() == [1, 8, 4]


def test_fusion_adds_chances_over_the_largest_of_their_row():
    classifier, similarity = top([(0, 2.0), (1, 0.0)]), top([(1, 0.5), (2, 0.1)])
    found = fused(classifier, similarity, 0.25, 3)
    expected = {
        0: 0.25,
        1: 0.25 * expit(0.0) / expit(2.0) + 0.75,
        2: 0.75 * expit(0.1) / expit(0.5),
    }
    scores = dict(zip(found.ids[0, :3].tolist(), found.scores[0, :3].tolist(), strict=True))
    assert scores == pytest.approx(expected, rel=1e-5)


def test_padding_never_enters_the_largest_of_a_row():
    # The logistic function of a padded zero would be 0.5, far above this row's real chances.
    chances = chances_of_largest(TopK(np.array([[3, -1]]), np.array([[-9.0, 0.0]], np.float32)))
    assert chances.scores.tolist() == [[1.0, 0.0]]
    assert chances_of_largest(top([(0, 1.0)], [])).scores[1].tolist() == [0.0]


def test_lists_of_several_learners_are_added_up():
    found = added([top([(0, 1.0), (1, 0.5)]), top([(1, 0.75)])], [1.0, 1.0], 3, 2)
    assert found.ids.tolist() == [[1, 0]]
    assert found.scores.tolist() == [[1.25, 1.0]]


def test_scores_have_the_bias_and_padding_stays_out():
    table = np.array([[1, 2, 10], [3, 4, 20]], dtype=np.float32)
    lists = np.array([[1, -1], [0, 1]], dtype=np.int32)
    found = scored(lists, np.array([[1, 1], [0, 1]], np.float32), table)
    assert found.tolist() == [[27, -np.inf], [12, 24]]


def test_the_loss_of_candidates_is_that_of_torch_with_its_gradients():
    random = np.random.Generator(np.random.Philox(key=1))
    candidates = Candidates(
        np.array([0, 2, 2, 5]), np.array([0, 3, 1, 3, 2], np.int32), np.array([1, 0, 0.25, 0, 1], np.float32)
    )
    weights = np.array([1, 2, 0.5], dtype=np.float32)
    leaves = [random.standard_normal(shape, dtype=np.float32) for shape in ((3, 6), (4, 7))]
    queries, table, same_queries, same_table = (
        torch.from_numpy(leaf.copy()).requires_grad_() for leaf in (*leaves, *leaves)
    )
    loss = candidate_loss(queries, table, candidates, weights)
    rows = torch.tensor([0, 0, 2, 2, 2])
    labels = torch.from_numpy(candidates.labels.astype(np.int64))
    scores = (same_queries[rows] * same_table[labels, :-1]).sum(1) + same_table[labels, -1]
    losses = functional.binary_cross_entropy_with_logits(
        scores, torch.from_numpy(candidates.targets), reduction="none"
    )
    expected = (losses * torch.from_numpy(weights)[rows]).sum() / 3
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-5)
    loss.backward()
    expected.backward()
    for mine, theirs in ((queries, same_queries), (table, same_table)):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"size": 0}, "size must be >= 1, got 0"),
        ({"points": -1}, "points must be >= 0, got -1"),
        ({"point_weight": 1.5}, r"point_weight must be in \[0, 1\], got 1.5"),
    ],
)
def test_bad_settings_are_named(values, message):
    with pytest.raises(ValueError, match=message):
        ShortlistSettings(**values)
