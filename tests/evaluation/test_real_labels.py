"""The metrics on the real LF-AmazonTitles-131K test labels: 134,835 rows, 131,073 labels, filter pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from tailwright.data.formats.xc import read_filter_pairs, read_label_matrix
from tailwright.evaluation import TopK, metrics_at_k, sliced_metrics, top_k_of_scores
from tailwright.labels import head_torso_tail, inverse_propensity


@pytest.fixture(scope="module")
def truth(real_data: Path) -> sparse.csr_array:
    return read_label_matrix(real_data / "amazontitles131k-labels" / "tst_X_Y.txt.gz")


@pytest.fixture(scope="module")
def excluded(real_data: Path, truth: sparse.csr_array) -> sparse.csr_array:
    return read_filter_pairs(real_data / "amazontitles131k-labels" / "tst_filter_labels.txt.gz", *truth.shape)


@pytest.fixture(scope="module")
def weights(truth: sparse.csr_array) -> np.ndarray:
    return inverse_propensity(truth, a=0.6, b=2.6)


@pytest.fixture(scope="module")
def perfect(truth: sparse.csr_array, weights: np.ndarray) -> TopK:
    """Every row's true labels, the rarest first."""
    scores = sparse.csr_array((weights[truth.indices], truth.indices, truth.indptr), shape=truth.shape)
    return top_k_of_scores(scores, 5)


def test_the_matrix_has_its_published_figures(truth: sparse.csr_array) -> None:
    assert truth.shape == (134_835, 131_073)
    assert truth.nnz == 284_746
    assert np.diff(truth.indptr).min() >= 1


def test_the_filter_has_its_published_figures(truth: sparse.csr_array, excluded: sparse.csr_array) -> None:
    assert excluded.nnz == 79_663
    assert np.count_nonzero(np.diff(excluded.indptr)) == 38_808
    assert truth.multiply(excluded).nnz == 0


def test_a_perfect_ranking_reaches_100_and_the_ceilings_of_precision(
    truth: sparse.csr_array, weights: np.ndarray, perfect: TopK, excluded: sparse.csr_array
) -> None:
    found = metrics_at_k(perfect, truth, weights, excluded=excluded)
    for k, ceiling in ((1, 100.00), (3, 63.75), (5, 42.02)):
        assert found[f"P@{k}"] == pytest.approx(ceiling, abs=0.005)
        for name in ("nDCG", "PSP", "PSnDCG", "PSnDCG-xclib"):
            assert found[f"{name}@{k}"] == pytest.approx(100)


def test_the_filter_takes_away_what_stands_on_top_and_nothing_else(
    truth: sparse.csr_array, weights: np.ndarray, perfect: TopK, excluded: sparse.csr_array
) -> None:
    """A model that ranks the excluded pairs first loses without the filter, and is perfect with it."""
    first = top_k_of_scores(excluded + truth * 0.5, 5 + int(np.diff(excluded.indptr).max()))
    filtered = metrics_at_k(first, truth, weights, excluded=excluded)
    assert metrics_at_k(first, truth, weights)["P@1"] == pytest.approx(100 * (1 - 38_808 / 134_835))
    for key in ("P@1", "P@3", "P@5", "nDCG@5"):
        assert filtered[key] == pytest.approx(metrics_at_k(perfect, truth, weights)[key])


def test_slices_cover_all_labels_and_their_parts_add_up(
    truth: sparse.csr_array, weights: np.ndarray, perfect: TopK
) -> None:
    counts = np.bincount(truth.indices, minlength=truth.shape[1])
    slices = sliced_metrics(perfect, truth, weights, head_torso_tail(counts))
    assert sum(part["labels"] for part in slices.values()) == np.count_nonzero(counts)
    assert sum(part["P-part@5"] for part in slices.values()) == pytest.approx(42.02, abs=0.005)
    assert slices["unseen"]["rows"] == 0
