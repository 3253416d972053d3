"""The correlation graph: what holds for any data, what changes with settings, and the real 131 K labels."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from labels.plain_graph import plain_shares, random_targets
from scipy import sparse

from tailwright.data.pairs import pairs_from_lists
from tailwright.labels import GraphSettings, correlation_graph, soft_annotations

METHODS = ["walk", "series"]


def ratios(graph: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """(entry over its row's diagonal, whether it is off the diagonal) of every stored entry."""
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    own = graph.diagonal().astype(np.float64)
    return graph.data / own[rows], rows != graph.indices


@settings(max_examples=40)
@given(st.integers(0, 1000), st.integers(1, 12), st.sampled_from(METHODS))
def test_invariants_of_any_graph(seed, head_cut, method):
    targets = random_targets(60, 20, 2, seed)
    counts = np.bincount(targets.indices, minlength=20)
    graph = correlation_graph(targets, top=5, head_cut=head_cut, seed=seed, method=method)
    assert graph.shape == (20, 20)
    assert graph.dtype == np.float32
    assert graph.has_canonical_format
    assert np.diff(graph.indptr).max() <= 6
    dense = graph.toarray()
    heads = counts > head_cut
    assert np.array_equal(dense[heads], np.eye(20)[heads])
    assert np.array_equal(dense[:, heads], np.eye(20)[:, heads])
    assert not dense[counts == 0].any()
    assert (graph.diagonal()[counts > 0] > 0).all()
    assert graph.data.min(initial=1) > 0


def test_visits_add_up_to_the_steps_and_shares_to_what_four_hops_hold():
    targets = random_targets(100, 12, 2)
    has_rows = np.bincount(targets.indices, minlength=12) > 0
    visits = correlation_graph(targets, steps=123, top=12).sum(axis=1)
    assert visits[has_rows].tolist() == [123] * has_rows.sum()
    for restart in (0.8, 0.5):
        shares = correlation_graph(targets, restart=restart, top=12, method="series").sum(axis=1)
        assert shares[has_rows] == pytest.approx(1 - (1 - restart) ** 4)


def test_the_walk_converges_to_the_series_as_steps_grow():
    targets = random_targets(300, 40, 3)
    # Hops beyond the fourth are 0.16 % of the visits at 0.8; the exact sum leaves only the walk's own noise.
    exact = plain_shares(targets.toarray(), 0.8, 500, hops=40)
    series = correlation_graph(targets, top=40, method="series").toarray()
    errors = []
    for steps in (100, 1_600, 25_600):
        shares = correlation_graph(targets, steps, top=40).toarray() / steps
        errors.append(np.sqrt(np.mean((shares - exact) ** 2)))
    # Noise falls with the root of the steps: 4 times less for 16 times as many.
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.25)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.25)
    assert np.abs(series - exact).max() < 0.0016
    assert np.abs(series - shares).max() < 0.02


def test_first_order_shares_never_exceed_the_labels_own():
    targets = random_targets(300, 40, 3)
    values, off = ratios(correlation_graph(targets, restart=1.0, top=40, method="series"))
    assert values[off].max() <= 1 + 1e-6


def test_soft_values_count_as_pairs():
    targets = random_targets(50, 10, 2)
    soft = targets * 0.25
    for method in METHODS:
        assert (correlation_graph(targets, method=method) != correlation_graph(soft, method=method)).nnz == 0


def test_a_seed_gives_one_graph_and_neighbouring_seeds_unrelated_ones():
    targets = random_targets(200, 30, 3)
    graphs = [correlation_graph(targets, top=30, seed=seed).toarray() for seed in (0, 0, 1)]
    assert np.array_equal(graphs[0], graphs[1])
    exact = plain_shares(targets.toarray(), 0.8, 500, hops=40) * 400
    noise = [(graph - exact).ravel() for graph in graphs]
    assert abs(np.corrcoef(noise[0], noise[2])[0, 1]) < 0.15


def test_a_diagonal_that_fell_out_comes_back_with_its_count_and_a_missing_one_as_1():
    # Label 0 stands on one row, among five others that also share rows with each other.
    targets = sparse.csr_array(np.array([[1, 1, 1, 1, 1, 1], *[[0, 1, 1, 1, 1, 1]] * 20], dtype=np.float32))
    whole = correlation_graph(targets, steps=50, restart=0.1, top=6)
    best = correlation_graph(targets, steps=50, restart=0.1, top=2)
    assert best[0, 0] == whole[0, 0] > 0
    assert np.diff(best.indptr)[0] == 3
    one_hop = correlation_graph(targets, steps=1, top=2, seed=4)
    away = one_hop.toarray()[0]
    assert away[1:].sum() == 1  # this seed's only hop ends elsewhere
    assert away[0] == 1


def test_ties_go_to_the_smaller_label():
    targets = sparse.csr_array(np.ones((1, 8), dtype=np.float32))
    graph = correlation_graph(targets, top=3, method="series")
    assert graph.indices[graph.indptr[5] : graph.indptr[6]].tolist() == [0, 1, 2, 5]


@pytest.mark.parametrize("method", METHODS)
def test_no_rows_no_labels_and_unsorted_pairs_are_fine(method):
    assert correlation_graph(sparse.csr_array((0, 3)), method=method).nnz == 0
    assert correlation_graph(sparse.csr_array((3, 0)), method=method).shape == (0, 0)
    parts = (np.ones(4), np.array([2, 0, 2, 1]), np.array([0, 4]))
    sorted_parts = (np.ones(3), np.array([0, 1, 2]), np.array([0, 3]))
    unsorted = sparse.csr_array(parts, shape=(1, 3))
    found = correlation_graph(unsorted, method=method)
    expected = correlation_graph(sparse.csr_array(sorted_parts, shape=(1, 3)), method=method)
    assert (found != expected).nnz == 0
    assert unsorted.indices.tolist() == [2, 0, 2, 1]


def test_a_walk_that_hardly_ever_starts_again_has_an_end():
    """2.2e-308 times 2**64 is below 1: the largest number by which a walk starts again was once -1."""
    targets = pairs_from_lists([[0, 1], [1, 2]], 3)
    graph = correlation_graph(targets, steps=20, restart=sys.float_info.min)
    assert graph.sum(axis=1).tolist() == [20, 20, 20]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "steps must be in \\[1, 1000000\\], got 0"),
        ({"top": 2.5}, "top must be a whole number, got 2.5"),
        ({"head_cut": -1}, "head_cut must be >= 1, got -1"),
        ({"restart": 0.0}, r"restart must be in \(0, 1\], got 0.0"),
        ({"restart": 1.7}, r"restart must be in \(0, 1\], got 1.7"),
        ({"method": "stroll"}, "method must be one of .*, got 'stroll'"),
    ],
)
def test_wrong_settings_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        GraphSettings(**change)
    with pytest.raises(ValueError, match=message):
        correlation_graph(sparse.csr_array((2, 2)), **change)


@pytest.fixture(scope="module")
def real_targets(real_data: Path) -> sparse.csr_array:
    from tailwright.data.formats.xc import read_label_matrix

    return read_label_matrix(real_data / "amazontitles131k-labels" / "tst_X_Y.txt.gz")


def test_the_walk_on_131k_labels_has_its_measured_figures(real_targets):
    graph = correlation_graph(real_targets)
    values, off = ratios(graph)
    assert graph.nnz / len(graph.indptr) == pytest.approx(5.9, rel=0.01)
    assert np.count_nonzero(off) == pytest.approx(640_693, rel=0.01)
    assert np.count_nonzero(values[off] > 1) == pytest.approx(80_513, rel=0.02)
    annotations = soft_annotations(graph)
    assert annotations.nnz / annotations.shape[0] == pytest.approx(3.67, abs=0.02)
    assert np.count_nonzero(np.diff(annotations.indptr) == 1) == pytest.approx(21_379, rel=0.01)
    heads = np.bincount(real_targets.indices, minlength=131_073) > 500
    assert heads.sum() == 2
    assert graph[heads][:, heads].toarray().tolist() == [[1, 0], [0, 1]]
    assert graph[:, heads].nnz == graph[heads].nnz == 2


def test_the_series_on_131k_labels_has_its_measured_figures(real_targets):
    graph = correlation_graph(real_targets, top=100, method="series")
    values, off = ratios(graph)
    # 48 K ratios are 1 up to rounding, so a few of them fall on the other side.
    assert np.count_nonzero(values[off] > 1 + 1e-6) == pytest.approx(82_136, abs=10)
    assert values[off].max() == pytest.approx(1.29, abs=0.005)
    assert soft_annotations(graph).nnz / 131_073 == pytest.approx(3.72, abs=0.005)
