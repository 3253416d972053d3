"""Inverse propensities: the golden table, the invariants, what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tailwright.labels import PROPENSITY_PRESETS, Propensity, inverse_propensity

COUNTS = np.array([0, 1, 10, 50, 100, 1000])


@pytest.mark.parametrize(
    ("rows", "preset", "weights"),
    [
        (15_449, "default", [12.4498, 9.6453, 4.7348, 2.6374, 2.1274, 1.3201]),
        (15_449, "amazon", [11.5094, 9.6453, 5.0770, 2.7297, 2.1584, 1.2950]),
        (14_146, "default", [12.3331, 9.5572, 4.6967, 2.6207, 2.1159, 1.3168]),
        (1_186_239, "default", [18.1990, 13.9863, 6.6101, 3.4596, 2.6935, 1.4808]),
    ],
)
def test_the_golden_table(rows: int, preset: str, weights: list[float]) -> None:
    assert PROPENSITY_PRESETS[preset].inverse(COUNTS, rows) == pytest.approx(weights, abs=5e-5)


def test_the_toy_weights_and_their_constant() -> None:
    weights = Propensity(0.55, 1.5).inverse(np.array([50, 10, 5, 1, 0]), rows=100)
    assert weights == pytest.approx([1.682808, 2.557432, 3.131525, 4.605170, 5.774661], abs=5e-7)
    assert (weights[0] - 1) * 51.5**0.55 == pytest.approx(5.967505, abs=5e-7)


def test_presets_are_the_published_constants() -> None:
    constants = {name: (preset.a, preset.b) for name, preset in PROPENSITY_PRESETS.items()}
    assert constants == {"default": (0.55, 1.5), "amazon": (0.6, 2.6), "wikipedia": (0.5, 0.4)}


@given(st.integers(3, 10**9), st.floats(0.05, 3), st.floats(0.05, 10))
def test_a_label_seen_once_weighs_ln_n_and_weights_fall_towards_one(rows: int, a: float, b: float) -> None:
    weights = Propensity(a, b).inverse(np.array([0, 1, 2, 3]), rows)
    assert weights[1] == pytest.approx(math.log(rows))
    assert np.all(np.diff(weights) < 0)
    assert weights[-1] > 1


def test_stored_pairs_count_whatever_their_soft_value() -> None:
    soft = sparse.csr_array(np.array([[0.1, 1.0, 0], [0.9, 0, 0], [0, 0, 0], [0, 0, 0]], dtype=np.float32))
    expected = Propensity(0.6, 2.6).inverse(np.array([2, 1, 0]), rows=4)
    found = inverse_propensity(soft, a=0.6, b=2.6)
    assert found.dtype == np.float64
    assert np.array_equal(found, expected)


def test_a_pair_stored_twice_counts_once() -> None:
    twice = sparse.csr_array((np.ones(2), np.array([0, 0]), np.array([0, 2, 2, 2])), shape=(3, 2))
    assert np.array_equal(inverse_propensity(twice), Propensity().inverse(np.array([1, 0]), rows=3))
    assert twice.nnz == 2


@pytest.mark.parametrize("bad", [{"a": 0.0}, {"a": math.nan}, {"b": -0.4}, {"b": math.inf}])
def test_constants_out_of_range_are_refused(bad: dict[str, float]) -> None:
    (name, value) = next(iter(bad.items()))
    with pytest.raises(ValueError, match=f"{name} must be > 0, got {value}"):
        Propensity(**bad)


def test_too_few_rows_and_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 3 training rows, got 2"):
        inverse_propensity(sparse.csr_array((2, 5)))
    with pytest.raises(ValueError, match=r"counts must be in 0..10 \(the training rows\), got 11"):
        Propensity().inverse(np.array([3, 11]), rows=10)
    with pytest.raises(ValueError, match=r"counts must be in 0\.\.10"):
        Propensity().inverse(np.array([-1]), rows=10)
    with pytest.raises(ValueError, match="train_targets must be a sparse matrix"):
        inverse_propensity(np.ones((3, 2)))
