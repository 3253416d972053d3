"""The label proximity graph against a brute-force one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tailwright.labels import proximity
from tailwright.labels.proximity import ProximityGraph, ProximitySettings, label_proximity_graph


def lists_of(graph: ProximityGraph) -> list[list[int]]:
    return [graph.neighbours[a:b].tolist() for a, b in zip(graph.starts[:-1], graph.starts[1:], strict=True)]


def shared_rows(targets: np.ndarray) -> np.ndarray:
    pairs = (targets > 0).astype(int)
    shared = pairs.T @ pairs
    np.fill_diagonal(shared, 0)
    return shared


@st.composite
def dense_targets(draw) -> np.ndarray:
    rows, labels = draw(st.integers(0, 8)), draw(st.integers(1, 7))
    cells = draw(st.lists(st.sampled_from([0, 0, 0.25, 1.0]), min_size=rows * labels, max_size=rows * labels))
    return np.array(cells, dtype=np.float32).reshape(rows, labels)


@given(dense_targets(), st.integers(1, 8))
def test_neighbours_share_a_row_and_the_strongest_are_kept(targets, most):
    graph = label_proximity_graph(sparse.csr_array(targets), ProximitySettings(most=most))
    shared = shared_rows(targets)
    for label, kept in enumerate(lists_of(graph)):
        neighbours = sorted(np.flatnonzero(shared[label]), key=lambda other: (-shared[label, other], other))
        assert kept == sorted(neighbours[:most])
        assert label not in kept
        assert graph.cut[label] == max(len(neighbours) - most, 0)


def test_blocks_of_labels_make_no_difference(monkeypatch):
    targets = sparse.csr_array(np.random.default_rng(0).random((40, 23)) < 0.2)
    whole = lists_of(label_proximity_graph(targets, ProximitySettings(most=4)))
    monkeypatch.setattr(proximity, "LABELS_A_BLOCK", 5)
    assert lists_of(label_proximity_graph(targets, ProximitySettings(most=4))) == whole


def test_a_random_cut_depends_on_the_seed_and_keeps_neighbours_alone():
    targets = sparse.csr_array(np.random.default_rng(0).random((60, 30)) < 0.4)
    settings = ProximitySettings(most=3, cut="random")
    one, again, other = (lists_of(label_proximity_graph(targets, settings, seed=s)) for s in (0, 0, 1))
    assert one == again
    assert one != other
    shared = shared_rows(targets.toarray())
    for label, kept in enumerate(one):
        assert len(kept) == min(3, np.count_nonzero(shared[label]))
        assert (shared[label][kept] > 0).all()


def test_lists_must_have_room():
    with pytest.raises(ValueError, match=r"most must be >= 1, got 0"):
        ProximitySettings(most=0)
