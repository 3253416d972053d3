"""A first look at rounded points finds what all products find, ties included."""

from __future__ import annotations

import numpy as np
import pytest

from tailwright.evaluation.ranking import top_k_of_scores
from tailwright.heads.nearest import FEW_QUERIES, POINTS_FOR_EACH, RoundedPoints
from tailwright.kernels.rounded import round_points


def random(key: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=key))


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("width", [1, 3, 16, 40])
def test_ties_of_whole_numbers_go_by_smaller_place(k: int, width: int) -> None:
    points = random(1).integers(-2, 3, (POINTS_FOR_EACH * k, width)).astype(np.float32)
    queries = random(2).integers(-2, 3, (FEW_QUERIES, width)).astype(np.float32)
    found, expected = RoundedPoints(points).top_k(queries, k), top_k_of_scores(queries @ points.T, k)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_points_that_rounding_cannot_tell_apart_are_still_ranked() -> None:
    """Each is a step of float32 from the next; their rounded forms are equal."""
    base = random(3).standard_normal(16).astype(np.float32)
    points = np.repeat(base[None], 640, axis=0)
    order = random(4).permutation(640)
    points[:, 0] += np.float32(1e-5) * order
    query = np.ones((1, 16), np.float32)
    assert len(np.unique(round_points(points)[0], axis=0)) < 640
    assert RoundedPoints(points).top_k(query, 10).ids[0].tolist() == np.argsort(-order)[:10].tolist()


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_sizes_of_numbers_and_zeros_make_no_difference(size: float) -> None:
    points = random(5).standard_normal((700, 24), dtype=np.float32) * np.float32(size)
    points[::7] = 0
    points[3, 5] *= 1000  # a row with one large number is rounded worst
    queries = random(6).standard_normal((FEW_QUERIES, 24), dtype=np.float32)
    queries[1] = 0
    found, expected = RoundedPoints(points).top_k(queries, 9), top_k_of_scores(queries @ points.T, 9)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-5)


def test_bounds_of_rounding_hold() -> None:
    points = random(7).standard_normal((50, 12), dtype=np.float32)
    rounded, steps, errors, lengths = round_points(points)
    back = steps[:, None] * rounded
    np.testing.assert_allclose(np.linalg.norm(points - back, axis=1), errors, rtol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(back, axis=1), lengths, rtol=1e-5)
    assert np.abs(points - back).max() <= 0.5001 * steps.max()


@pytest.mark.parametrize("count", [2, FEW_QUERIES + 1])
def test_a_query_that_is_no_number_is_refused(count: int) -> None:
    queries, points = np.ones((count, 3), np.float32), np.ones((2 * POINTS_FOR_EACH, 3), np.float32)
    queries[1, 2] = np.nan
    with pytest.raises(ValueError, match="query 1 has a product that is NaN"):
        RoundedPoints(points).top_k(queries, 2)
