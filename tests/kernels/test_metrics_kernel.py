"""The metric and ranking kernels beside plain twins, and on any number of threads."""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tailwright.evaluation import metrics_at_k, sliced_metrics, top_k_of_scores
from tailwright.kernels.metrics import ROWS_PER_BLOCK, count_by_label, cut_rankings, zero_pairs
from tailwright.kernels.ranking import find_label


@pytest.fixture
def threads() -> Iterator[int]:
    """The number of threads there is; put back after the test."""
    before = numba.get_num_threads()
    yield before
    numba.set_num_threads(before)


def random_pairs(seed: int, shape: tuple[int, int], share: float) -> sparse.csr_array:
    random = np.random.default_rng(seed)
    return sparse.csr_array((random.random(shape) < share).astype(np.float64))


def random_rankings(seed: int, rows: int, labels: int, width: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    ids = np.argsort(random.random((rows, labels)), axis=1)[:, :width]
    return np.where(random.random(ids.shape) < 0.15, -1, ids).astype(np.int32)


@given(st.lists(st.integers(0, 30), unique=True).map(sorted), st.integers(-1, 31))
def test_find_label_is_a_search_in_a_part_of_the_array(labels: list[int], wanted: int) -> None:
    around = np.array([wanted, *labels, wanted], dtype=np.int32)
    found = find_label(around, 1, 1 + len(labels), wanted)
    assert found == (1 + labels.index(wanted) if wanted in labels else -1)


@pytest.mark.parametrize("rows", [1, ROWS_PER_BLOCK, ROWS_PER_BLOCK + 1])
def test_cut_rankings_equals_its_plain_twin(rows: int) -> None:
    ids, skip = random_rankings(0, rows, 12, 9), random_pairs(1, (rows, 12), 0.3)
    cut = np.full((rows, 4), -1, dtype=np.int32)
    repeated = np.full(rows, -1, dtype=np.int32)
    cut_rankings(ids, skip.indptr.astype(np.int64), skip.indices.astype(np.int32), cut, repeated)
    left_out = skip.toarray() > 0
    expected = [
        ([label for label in ranking if label >= 0 and not left_out[row, label]] + [-1] * 4)[:4]
        for row, ranking in enumerate(ids.tolist())
    ]
    assert cut.tolist() == expected
    assert np.all(repeated == -1)


def test_cut_rankings_finds_a_repeat_that_is_skipped_or_below_the_cut() -> None:
    ids = np.array([[3, 1, 3], [0, 1, 2], [-1, -1, -1], [5, 4, 4]], dtype=np.int32)
    skip = sparse.csr_array((np.ones(1), np.array([3]), np.array([0, 1, 1, 1, 1])), shape=(4, 6))
    repeated = np.full(4, -1, dtype=np.int32)
    cut = np.full((4, 1), -1, dtype=np.int32)
    cut_rankings(ids, skip.indptr.astype(np.int64), skip.indices.astype(np.int32), cut, repeated)
    assert repeated.tolist() == [3, -1, -1, 4]


def test_zero_pairs_equals_its_plain_twin() -> None:
    truth, skip = random_pairs(2, (50, 20), 0.3), random_pairs(3, (50, 20), 0.3)
    expected = truth.toarray() * (skip.toarray() == 0)
    zero_pairs(
        truth.indptr.astype(np.int64),
        truth.indices.astype(np.int32),
        truth.data,
        skip.indptr.astype(np.int64),
        skip.indices.astype(np.int32),
    )
    assert np.array_equal(truth.toarray(), expected)


def test_count_by_label_equals_its_plain_twin() -> None:
    rows, labels, ends = 60, 15, np.array([1, 2, 4], dtype=np.int64)
    truth = random_pairs(4, (rows, labels), 0.2)
    ids = np.argsort(np.random.default_rng(5).random((rows, labels)), axis=1)[:, :4].astype(np.int32)
    ids[::7, 2:] = -1
    rank = np.full((rows, labels), -1, dtype=np.int32)
    for row, ranking in enumerate(ids):
        for place, label in enumerate(ranking):
            if label >= 0:
                rank[row, label] = place
    places = rank[truth.nonzero()]
    predicted, hits = np.zeros((labels, 3), dtype=np.int64), np.zeros((labels, 3))
    mass = np.zeros(labels)
    count_by_label(ids, truth.indices.astype(np.int32), truth.data, places, ends, predicted, hits, mass)
    ranked = np.stack([(rank >= 0) & (rank < k) for k in ends], axis=-1)  # (rows, labels, ks)
    assert np.array_equal(predicted, ranked.sum(axis=0))
    assert np.array_equal(hits, (ranked * truth.toarray()[:, :, None]).sum(axis=0))
    assert np.array_equal(mass, truth.toarray().sum(axis=0))


def test_results_are_the_same_bits_on_any_number_of_threads(threads: int) -> None:
    rows, labels = 5 * ROWS_PER_BLOCK + 17, 30
    random = np.random.default_rng(6)
    truth = random_pairs(7, (rows, labels), 0.1)
    truth.data = random.random(truth.nnz)
    ids, weights = random_rankings(8, rows, labels, 10), 1 + random.random(labels)
    excluded = random_pairs(9, (rows, labels), 0.05)
    scores = random.integers(0, 5, size=(rows, labels)).astype(np.float32)
    slices = {"even": np.arange(labels) % 2 == 0}
    found = []
    for count in {1, threads}:
        numba.set_num_threads(count)
        found.append(
            (
                metrics_at_k(ids, truth, weights, (1, 3, 5), excluded),
                sliced_metrics(ids, truth, weights, slices, (1, 3), excluded),
                top_k_of_scores(scores, 6, excluded).ids.tolist(),
            )
        )
    assert found[0] == found[-1]
