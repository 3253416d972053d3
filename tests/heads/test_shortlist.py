"""Shortlists by centroids and by votes of training points."""

from __future__ import annotations

import numpy as np
import pytest
from rankings import top
from scipy import sparse

from tailwright.heads.shortlist import Shortlister, label_centroids, weighted_sum
from tailwright.heads.shortlist_settings import CandidateSettings, ShortlistSettings

# Two labels on two points each, one on a single point, one on none.
POINTS = np.array([[1, 0], [1, 0.2], [0, 1], [0.2, 1], [1, 1]], dtype=np.float32)
TARGETS = sparse.csr_array(
    np.array([[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], np.float32)
)


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
    lists = Shortlister(points.astype(np.float32), targets, settings).lists(np.array([[0, 1]], np.float32))
    assert sorted(lists.ids[0][lists.ids[0] >= 0].tolist()) == [0, 1]
    # The mean of label 0 lies at 45 degrees; one of its k-means centroids may lie at the query itself.
    assert lists.scores[0, lists.ids[0].tolist().index(0)] >= 0.7


def test_lists_merge_centroids_and_votes_by_their_weights():
    settings = ShortlistSettings(centroids=3, points=2, size=4, point_weight=0.075)
    query = np.array([[1, 0.1]], dtype=np.float32)
    lists = Shortlister(POINTS, TARGETS, settings).lists(query)
    centroids = {0: POINTS[:2].mean(axis=0), 1: POINTS[2:4].mean(axis=0), 2: POINTS[4]}
    # The two nearest points both carry label 0, so its vote is the row's largest: 1.
    expected = {label: 0.925 * cosine(query[0], centroid) for label, centroid in centroids.items()}
    expected[0] += 0.075
    order = sorted(expected, key=lambda label: -expected[label])
    assert lists.ids[0].tolist() == [*order, -1]
    np.testing.assert_allclose(lists.scores[0, :3], [expected[label] for label in order], rtol=1e-5)


def test_without_points_a_list_is_the_similarity_to_centroids():
    lists = Shortlister(POINTS, TARGETS, ShortlistSettings(points=0)).lists(POINTS[:1])
    assert lists.ids[0, :3].tolist() == [0, 2, 1]
    np.testing.assert_allclose(lists.scores[0, 0], cosine(POINTS[0], POINTS[:2].mean(axis=0)), rtol=1e-5)


def test_a_label_without_points_is_in_no_list():
    lists = Shortlister(POINTS, TARGETS, ShortlistSettings(points=5)).lists(POINTS)
    assert 3 not in lists.ids


def test_a_query_without_direction_has_an_empty_list():
    lists = Shortlister(POINTS, TARGETS, ShortlistSettings()).lists(np.zeros((1, 2), np.float32))
    assert (lists.ids == -1).all()


def test_lists_of_several_learners_are_added_up():
    total = weighted_sum([top([(0, 1.0), (1, 0.5)]), top([(1, 0.75)])], [1.0, 1.0], 3, 2)
    assert total.ids.tolist() == [[1, 0]]
    assert total.scores.tolist() == [[1.25, 1.0]]


def test_lists_are_no_wider_than_there_are_labels():
    lists = Shortlister(POINTS, TARGETS, ShortlistSettings(size=500)).lists(POINTS)
    assert lists.ids.shape == (5, 4)


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


def test_there_is_room_for_all_positives_among_the_candidates():
    with pytest.raises(ValueError, match="size must be >= positives=20, got 10"):
        CandidateSettings(size=10)
