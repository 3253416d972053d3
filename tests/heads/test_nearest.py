"""Nearest neighbours by cosine: both methods find the same, and short lists are fine."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from tailwright.errors import MissingExtraError
from tailwright.heads import nearest as nearest_module
from tailwright.heads.nearest import GraphShape, Neighbours

needs_usearch = pytest.mark.skipif(find_spec("usearch") is None, reason="usearch is not installed")
METHODS = ["exact", pytest.param("hnsw", marks=needs_usearch)]


def vectors(key: int, *shape: int) -> np.ndarray:
    return np.random.Generator(np.random.Philox(key=key)).standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize("method", METHODS)
def test_both_methods_find_the_largest_cosines(method):
    queries, points = vectors(1, 20, 8), vectors(2, 60, 8)
    found = Neighbours(points, method, GraphShape(16, 200, 200)).search(queries, 5)
    cosines = (queries @ points.T) / np.outer(*(np.linalg.norm(v, axis=1) for v in (queries, points)))
    expected = np.argsort(-cosines, axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(found.ids, expected)
    np.testing.assert_allclose(found.scores, np.take_along_axis(cosines, expected, axis=1), atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_fewer_points_than_asked_for_give_padding(method):
    found = Neighbours(vectors(2, 3, 4), method).search(vectors(1, 2, 4), 7)
    assert found.ids.shape == (2, 7)
    assert [sorted(row) for row in found.ids[:, :3].tolist()] == [[0, 1, 2]] * 2
    assert (found.ids[:, 3:] == -1).all()
    assert np.isneginf(found.scores[:, 3:]).all()


@pytest.mark.parametrize("method", METHODS)
def test_what_has_no_direction_is_near_to_nothing(method):
    points = vectors(3, 4, 5)
    points[1] = 0
    queries = np.stack([np.zeros(5, np.float32), points[2]])
    found = Neighbours(points, method).search(queries, 4)
    assert (found.ids[0] == -1).all()
    assert found.ids[1, 0] == 2
    assert sorted(found.ids[1].tolist()) == [-1, 0, 2, 3]


@pytest.mark.parametrize("method", METHODS)
def test_no_points_and_no_queries_are_fine(method):
    assert (Neighbours(np.empty((0, 4), np.float32), method).search(vectors(1, 3, 4), 2).ids == -1).all()
    assert Neighbours(vectors(1, 3, 4), method).search(np.empty((0, 4), np.float32), 2).ids.shape == (0, 2)


@needs_usearch
def test_a_graph_built_twice_finds_the_same():
    queries, points = vectors(1, 50, 16), vectors(2, 500, 16)
    once, again = (Neighbours(points, "hnsw", GraphShape(4, 8, 8)).search(queries, 10) for _ in range(2))
    np.testing.assert_array_equal(once.ids, again.ids)


def test_auto_is_exact_up_to_a_number_of_points(monkeypatch):
    points = vectors(1, 6, 3)
    assert Neighbours(points).method == "exact"
    monkeypatch.setattr(nearest_module, "EXACT_POINTS", 5)
    monkeypatch.setattr(nearest_module, "find_spec", lambda name: object())
    assert Neighbours(points).method == "hnsw"
    monkeypatch.setattr(nearest_module, "find_spec", lambda name: None)
    assert Neighbours(points).method == "exact"


def test_a_graph_without_its_package_names_the_install_command(monkeypatch):
    monkeypatch.setattr(nearest_module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tailwright\[ann\]'"):
        Neighbours(vectors(1, 3, 2), "hnsw")


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match="method must be one of auto, exact, hnsw, got 'fast'"):
        Neighbours(vectors(1, 3, 2), "fast")
