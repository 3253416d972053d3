"""Nearest neighbours by cosine, exact or approximate; the largest dot products, exact.

| method | is |
|---|---|
| exact | matrix products with all points, in blocks of both sides; nothing to build |
| hnsw | a navigable graph (the package usearch): slow to build, then a query looks at few points |
| auto | exact up to `EXACT_POINTS` points, above that hnsw where usearch is installed |

Measured on 41,673 centroids of 300 numbers, 4,000 queries for 400 neighbours each, two threads on a machine
shared with other work: exact 4.9 s; hnsw (32 links, 400 points in sight) 14.4 s for 87 % of the neighbours,
after 25 s of building. Exact search costs more with more points, a graph hardly does: hence "auto".

The graph is built by one thread, since its shape depends on the order of insertion and a resumed training
must find the same neighbours again; it is searched by all threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numba import get_num_threads

from tailwright.errors import MissingExtraError, NoNumberError
from tailwright.evaluation.ranking import PADDING, TopK
from tailwright.heads.shortlist_settings import SearchMethod
from tailwright.kernels.ranking import keep_best, rank_kept
from tailwright.kernels.rounded import nearest_rounded, round_points
from tailwright.labels.vectors import unit_rows
from tailwright.settings import Settings, setting

if TYPE_CHECKING:
    from usearch.index import Index

EXACT_POINTS = 200_000
# Of a matrix product: 16 MB of scores at most. Smaller blocks would stay in the cache, but the threads of
# products and of ranking wait for each other: with two beside other work, 256 x 2048 took twice as long.
QUERIES_A_BLOCK, POINTS_A_BLOCK = 512, 8192
QUERIES_OF_A_GRAPH = 4096  # asked at once
# Rounded points pay for so few queries, and for so many points for each that is wanted.
FEW_QUERIES, POINTS_FOR_EACH = 4, 64


@dataclass(frozen=True)
class GraphShape(Settings):
    """How dense a graph is, and how thoroughly it is built and searched."""

    links: int = setting(100, "links of a point", least=1)
    build: int = setting(300, "points kept in sight while it is built", least=1)
    search: int = setting(400, "points kept in sight while it is searched", least=1)


class Neighbours:
    """The points (points, width) to search among; a point without a direction is near to nothing.

    >>> points = np.array([[1, 0], [1, 1], [0, 2]], dtype=np.float32)
    >>> Neighbours(points).search(points[:1], 2).ids.tolist()
    [[0, 1]]
    """

    def __init__(
        self, points: np.ndarray, method: SearchMethod = "auto", shape: GraphShape | None = None
    ) -> None:
        if method not in get_args(SearchMethod):
            raise ValueError(f"method must be one of {', '.join(get_args(SearchMethod))}, got {method!r}")
        if method == "auto":
            approximate = len(points) > EXACT_POINTS and find_spec("usearch") is not None
            method = "hnsw" if approximate else "exact"
        if method == "hnsw" and find_spec("usearch") is None:
            raise MissingExtraError("usearch, which searches by a graph,", "ann")
        self.method, self.shape = method, shape or GraphShape()
        self._units = unit_rows(points)
        self._pointing = np.flatnonzero(np.abs(self._units).max(axis=1, initial=0) > 0).astype(np.int32)
        if len(self._pointing) < len(self._units):
            self._units = self._units[self._pointing]

    def search(self, queries: np.ndarray, k: int) -> TopK:
        """The k points of the largest cosine with each of `queries` (rows, width), best first.

        Where there are fewer points, a row is padded. A query without a direction is near to nothing.
        """
        if k < 1:
            raise ValueError(f"k must be >= 1, got {k}")
        units = unit_rows(queries)
        most = min(k, max(len(self._units), 1))  # ranking costs by width, padding does not
        by_graph = self.method == "hnsw" and len(self._units) and len(units)
        top = self._graph_top_k(units, most) if by_graph else exact_top_k(units, self._units, most)
        top = _widened(top, k)
        missing = (np.abs(units).max(axis=1, initial=0) == 0)[:, None] | (top.ids < 0)
        ids = self._pointing[np.where(missing, 0, top.ids)] if len(self._pointing) else top.ids
        return TopK(np.where(missing, -1, ids).astype(np.int32), np.where(missing, -np.inf, top.scores))

    def _graph_top_k(self, units: np.ndarray, k: int) -> TopK:
        blocks = []
        for start in range(0, len(units), QUERIES_OF_A_GRAPH):
            block = units[start : start + QUERIES_OF_A_GRAPH]
            # For a single query usearch gives matches of another type, so it is asked twice.
            queries = np.repeat(block, 2, axis=0) if len(block) == 1 else block
            matches: Any = self._graph.search(queries, k, threads=get_num_threads())
            missing = np.arange(k) >= matches.counts[: len(block), None]
            ids = np.where(missing, -1, matches.keys[: len(block)].astype(np.int32))
            cosines = np.where(missing, -np.inf, 1 - matches.distances[: len(block)])
            blocks.append(TopK(ids, cosines))
        return TopK.concat(blocks)

    @cached_property
    def _graph(self) -> Index:
        from usearch.index import Index

        index = Index(
            ndim=self._units.shape[1],
            metric="cos",
            dtype="f32",
            connectivity=self.shape.links,
            expansion_add=self.shape.build,
            expansion_search=self.shape.search,
        )
        index.add(np.arange(len(self._units), dtype=np.uint64), self._units, threads=1)
        return index


def _widened(top: TopK, k: int) -> TopK:
    """The same lists padded to k."""
    more = ((0, 0), (0, k - top.k))
    return TopK(np.pad(top.ids, more, constant_values=-1), np.pad(top.scores, more, constant_values=-np.inf))


def exact_top_k(queries: np.ndarray, points: np.ndarray, k: int) -> TopK:
    """The k of `points` (points, width) with the largest dot product with each query (rows, width), float32.

    Equal products go by smaller place; where there are fewer than k points a row is padded. Only the k best
    of each block are kept, so memory does not grow with the number of points. NaN is refused.
    """
    ids = np.full((len(queries), k), PADDING, dtype=np.int32)
    scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
    has_nan = np.zeros(len(queries), dtype=bool)
    for first in range(0, len(queries), QUERIES_A_BLOCK):
        rows = slice(first, first + QUERIES_A_BLOCK)
        for start in range(0, len(points), POINTS_A_BLOCK):
            products = queries[rows] @ points[start : start + POINTS_A_BLOCK].T
            keep_best(products, start, ids[rows], scores[rows], has_nan[rows])
    if has_nan.any():
        raise NoNumberError(f"query {int(np.argmax(has_nan))} has a product that is NaN")
    rank_kept(ids, scores, min(k, len(points)))
    return TopK(ids, scores)


class RoundedPoints:
    """Points (points, width) float32 that queries come to one at a time, or many at once.

    For a few queries all time goes into reading the points, so they are also kept rounded to a byte a number.
    On 41,673 points of 128 numbers and a busy machine, a query for the 25 nearest takes 0.6 ms instead of
    2.1; the exact products of 30 points are computed, and the same points are found. Many queries share what
    is read, and are put to `exact_top_k`.
    """

    def __init__(self, points: np.ndarray) -> None:
        self.points = points

    @cached_property
    def _rounded(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return round_points(self.points)

    def top_k(self, queries: np.ndarray, k: int) -> TopK:
        """What `exact_top_k` gives."""
        few = len(queries) <= FEW_QUERIES and k * POINTS_FOR_EACH <= len(self.points)
        if not few or not np.isfinite(queries).all():
            return exact_top_k(queries, self.points, k)
        ids = np.full((len(queries), k), -1, dtype=np.int32)
        scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
        nearest_rounded(queries, self.points, *self._rounded, ids, scores)
        return TopK(ids, scores)
