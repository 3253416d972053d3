"""The cut of a level's nodes: equal to the plain form, for sparse and dense vectors and any thread count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tailwright.kernels.clustering import split_nodes
from tailwright.labels.clustering import _vectors
from tailwright.labels.vectors import unit_rows


def plain_split(
    units: np.ndarray, rows: np.ndarray, seeds: np.ndarray, iterations: int, tolerance: float
) -> np.ndarray:
    """One node, by full sorts and both centroids: its members, first half first."""
    if len(rows) <= 2:
        return rows
    half = (len(rows) + 1) // 2
    vectors = units[rows].astype(np.float64)
    one, other = vectors[seeds[0]], vectors[seeds[1]]
    before = -np.inf
    for _ in range(iterations):
        order = np.lexsort((rows, -(vectors @ one - vectors @ other)))
        first, second = vectors[order[:half]], vectors[order[half:]]
        one, other = (s.sum(axis=0) / max(np.linalg.norm(s.sum(axis=0)), 1e-300) for s in (first, second))
        now = ((first @ one).sum() + (second @ other).sum()) / len(rows)
        if now - before < tolerance:
            break
        before = now
    return np.concatenate([np.sort(rows[order[:half]]), np.sort(rows[order[half:]])])


def split(
    vectors: np.ndarray | sparse.csr_array, bounds: np.ndarray, seeds: np.ndarray, threads: int = 1
) -> np.ndarray:
    members = np.arange(bounds[-1], dtype=np.int32)
    split_nodes(_vectors(vectors), vectors.shape[1], members, bounds, seeds, 20, 1e-4, threads)
    return members


# Random directions have no ties, so the kernel and its twin must agree on every member.
@given(st.integers(0, 2**32), st.lists(st.integers(1, 30), min_size=1, max_size=5), st.booleans())
def test_the_kernel_equals_the_plain_form(seed, sizes, as_sparse):
    random = np.random.default_rng(seed)
    dense = random.standard_normal((sum(sizes), 7)).astype(np.float32)
    dense[random.random(dense.shape) < 0.4] = 0
    # A last column keeps rows from being empty, which would tie.
    dense[:, -1] = random.random(len(dense)) + 0.1
    units = unit_rows(dense)
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    seeds = np.array([[0, size - 1] for size in sizes])
    expected = [
        plain_split(units, np.arange(a, b), two, 20, 1e-4)
        for a, b, two in zip(bounds[:-1], bounds[1:], seeds, strict=True)
    ]
    found = split(sparse.csr_array(units) if as_sparse else units, bounds, seeds)
    assert found.tolist() == np.concatenate(expected).tolist()


def test_equal_members_are_cut_in_their_order():
    units = unit_rows(np.ones((5, 3)))
    assert split(units, np.array([0, 5]), np.array([[0, 1]])).tolist() == [0, 1, 2, 3, 4]


def test_a_sum_that_comes_back_to_zero_is_counted_once():
    """Members that cancel each other in a column must not make it weigh twice."""
    dense = np.array([[1, 0.1], [-1, 0.2], [1, 0.3], [-1, 0.4], [1, 0.5], [-1, 0.6]])
    units = unit_rows(dense)
    bounds, seeds = np.array([0, 6]), np.array([[0, 1]])
    assert split(sparse.csr_array(units), bounds, seeds).tolist() == [0, 2, 4, 1, 3, 5]


@pytest.mark.parametrize("as_sparse", [True, False])
def test_the_number_of_threads_makes_no_difference(as_sparse):
    random = np.random.default_rng(0)
    units = unit_rows(random.standard_normal((200, 6)) * (random.random((200, 6)) < 0.5))
    vectors = sparse.csr_array(units) if as_sparse else units
    bounds, seeds = np.arange(0, 201, 20), np.tile([3, 8], (10, 1))
    assert split(vectors, bounds, seeds, 1).tolist() == split(vectors, bounds, seeds, 2).tolist()
