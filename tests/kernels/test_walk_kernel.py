"""The walk and the series: equal to their plain forms, for any number of threads."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from labels.plain_graph import plain_graph, plain_shares, plain_visits, random_targets
from scipy import sparse

from tailwright.labels import correlation, correlation_graph

TARGETS = arrays.arrays(
    np.float32, st.tuples(st.integers(0, 8), st.integers(1, 6)), elements=st.sampled_from([0, 0, 0, 0.5, 1])
)


@settings(max_examples=60)
@given(TARGETS, st.integers(1, 40), st.sampled_from([0.2, 0.8, 1.0]), st.integers(1, 4), st.integers(1, 6))
def test_the_walk_equals_the_plain_walk_count_by_count(targets, steps, restart, top, head_cut):
    visits = [plain_visits(targets, m, steps, restart, head_cut, seed=5) for m in range(targets.shape[1])]
    found = correlation_graph(sparse.csr_array(targets), steps, restart, top, head_cut, seed=5)
    assert found.toarray().tolist() == plain_graph(visits, targets, top, head_cut).tolist()


@settings(max_examples=60)
@given(TARGETS, st.sampled_from([0.2, 0.8, 1.0]), st.integers(1, 6))
def test_the_series_equals_the_dense_powers(targets, restart, head_cut):
    labels = targets.shape[1]
    found = correlation_graph(sparse.csr_array(targets), 1, restart, labels, head_cut, method="series")
    shares = plain_shares(targets, restart, head_cut)
    expected = plain_graph(
        [{m: row[m] for m in np.flatnonzero(row)} for row in shares], targets, labels, head_cut
    )
    assert np.allclose(found.toarray(), expected, atol=1e-6)


def test_the_series_keeps_the_strongest_and_the_label_itself():
    targets = random_targets(200, 30, 3)
    whole = correlation_graph(targets, top=30, method="series").toarray()
    best = correlation_graph(targets, top=4, method="series").toarray()
    for label, row in enumerate(whole):
        kept = sorted(np.flatnonzero(row), key=lambda m: (-row[m], m))[:4]
        assert set(np.flatnonzero(best[label])) == {*kept, label}
        assert np.array_equal(best[label, kept], row[kept])


@pytest.mark.parametrize("method", ["walk", "series"])
def test_threads_and_slices_make_no_difference(method, monkeypatch):
    targets = random_targets(3000, 1500, 3)
    before = numba.get_num_threads()
    whole = correlation_graph(targets, method=method)
    try:
        numba.set_num_threads(1)
        monkeypatch.setattr(correlation, "BLOCK", 700)
        alone = correlation_graph(targets, method=method)
    finally:
        numba.set_num_threads(before)
    assert np.array_equal(whole.indptr, alone.indptr)
    assert np.array_equal(whole.indices, alone.indices)
    assert np.array_equal(whole.data, alone.data)
