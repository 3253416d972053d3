"""A search of some clusters finds the best of all points that it looks at."""

from __future__ import annotations

import numpy as np
import pytest

from tailwright.heads import clustered_points
from tailwright.heads.clustered_points import ClusteredPoints, PointClusters
from tailwright.heads.nearest import exact_top_k
from tailwright.kernels.clustered import nearest_in_clusters
from tailwright.labels.vectors import unit_rows


def vectors(key: int, count: int, width: int) -> np.ndarray:
    drawn = np.random.Generator(np.random.Philox(key=key)).standard_normal((count, width))
    return unit_rows(drawn.astype(np.float32))


def plainly(queries, named, clusters, points, probes, k):
    """The same by all products, a query at a time."""
    ids = np.full((len(queries), k), -1, dtype=np.int32)
    for row, query in enumerate(queries):
        near = np.argsort(-(clusters.centroids @ query), kind="stable")[:probes]
        looked_at = set(np.flatnonzero(np.isin(clusters.owners, near)).tolist())
        looked_at |= set(named[row][named[row] >= 0].tolist())
        products = points @ query
        best = sorted(looked_at, key=lambda point: (-products[point], point))[:k]
        ids[row, : len(best)] = best
    return ids


@pytest.mark.parametrize("k", [1, 7, 60])
@pytest.mark.parametrize("probes", [1, 3, 20])
def test_the_kernel_equals_the_plain_form(k: int, probes: int) -> None:
    points, queries = vectors(1, 400, 24), vectors(2, 30, 24)
    clusters = PointClusters(points[:20], (points @ points[:20].T).argmax(axis=1).astype(np.int32))
    named = np.random.default_rng(3).integers(-1, 400, (30, 9)).astype(np.int32)
    named[:, 4] = named[:, 3]  # two may name the same
    arrays = ClusteredPoints(points, clusters)._arrays[:-1]
    ids, scores = np.full((30, k), -1, np.int32), np.full((30, k), -np.inf, np.float32)
    nearest_in_clusters(queries, named, *arrays, probes, 0, 30, ids, scores)
    np.testing.assert_array_equal(ids, plainly(queries, named, clusters, points, probes, k))
    products = np.where(ids >= 0, np.take_along_axis(queries @ points.T, np.maximum(ids, 0), 1), -np.inf)
    np.testing.assert_allclose(scores, products, rtol=1e-5, atol=1e-6)


def test_all_clusters_give_the_exact_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustered_points, "SHARE", 1.0)
    points, queries = vectors(4, 500, 16), vectors(5, 20, 16)
    found = ClusteredPoints(points, PointClusters.of(points, 0)).top_k(
        queries, 9, np.empty((20, 0), np.int32)
    )
    np.testing.assert_array_equal(found.ids, exact_top_k(queries, points, 9).ids)


def test_a_named_point_far_from_the_near_clusters_is_found() -> None:
    points = vectors(6, 500, 16)
    search = ClusteredPoints(points, PointClusters.of(points, 0))
    far = np.array([[int((points @ points[0]).argmin())]], dtype=np.int32)
    assert far[0, 0] not in search.top_k(points[:1], 100, np.full((1, 1), -1, np.int32)).ids
    assert far[0, 0] in search.top_k(points[:1], 100, far).ids


def test_every_point_is_in_the_nearest_cluster_also_one_that_came_later() -> None:
    points, more = vectors(7, 900, 8), vectors(8, 50, 8)
    grown = PointClusters.of(points, 0).with_points(more)
    nearest = (np.concatenate([points, more]) @ grown.centroids.T).argmax(axis=1)
    np.testing.assert_array_equal(grown.owners, nearest)
    assert len(grown.centroids) == int(clustered_points.CLUSTERS * 30)
