"""Two rankings side by side: the gain is the difference of the metrics, the rows shown are a fair draw."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tailwright.evaluation import sliced_metrics
from tailwright.evaluation.compare import Gain, found_of_rows, recall_gain, shares, telling_rows

ROWS, LABELS, K = 12, 6, 2


def case(seed: int) -> tuple[np.ndarray, np.ndarray, sparse.csr_array, sparse.csr_array, np.ndarray]:
    """Two rankings, truth, excluded pairs and a mask, all drawn."""
    draw = np.random.default_rng(seed)
    before, after = (np.array([draw.permutation(LABELS)[:4] for _ in range(ROWS)]) for _ in range(2))
    truth = draw.random((ROWS, LABELS)) * (draw.random((ROWS, LABELS)) < 0.4)
    excluded = draw.random((ROWS, LABELS)) < 0.1
    return before, after, sparse.csr_array(truth), sparse.csr_array(excluded * 1.0), draw.random(LABELS) < 0.5


@given(st.integers(0, 10_000))
def test_the_gain_is_the_difference_of_the_recalls_of_the_slice(seed):
    before, after, truth, excluded, mask = case(seed)
    gain = recall_gain(before, after, truth, mask, K, excluded)
    was, now = (
        sliced_metrics(top, truth, None, {"part": mask}, (K,), excluded)["part"] for top in (before, after)
    )
    if gain is None:
        assert was["rows"] == 0
        return
    assert gain.mean == pytest.approx(now[f"R@{K}"] - was[f"R@{K}"])
    assert gain.rows == was["rows"]
    assert gain.low <= gain.mean <= gain.high


def test_the_interval_holds_the_true_gain_about_95_times_in_100():
    held, tries, rows = 0, 400, 200
    truth = sparse.csr_array(np.ones((rows, 1)))
    for seed in range(tries):
        draw = np.random.default_rng(seed)
        was, now = (np.where(draw.random((rows, 1)) < odds, 0, -1) for odds in (0.4, 0.5))
        gain = recall_gain(was, now, truth, np.array([True]), 1)
        held += gain.low <= 10 <= gain.high
    assert 0.92 <= held / tries <= 0.98


def test_a_verdict_needs_an_interval_without_zero():
    words = [Gain(1, low, high, 9).verdict for low, high in ((0.5, 2), (-0.5, 2), (-2, -0.5))]
    assert words == ["better", "no clear difference", "worse"]


def test_one_row_is_never_a_clear_difference():
    truth = sparse.csr_array(np.array([[1.0]]))
    gain = recall_gain(np.array([[-1]]), np.array([[0]]), truth, np.array([True]), 1)
    assert (gain.mean, gain.rows, gain.verdict) == (100, 1, "no clear difference")


def test_excluded_pairs_neither_count_nor_take_a_place():
    truth = sparse.csr_array(np.array([[1.0, 1.0, 0.5]]))
    excluded = sparse.csr_array(np.array([[1.0, 0, 0]]))
    found, mass = found_of_rows(np.array([[0, 2]]), truth, np.array([True] * 3), 1, excluded)
    assert (found.tolist(), mass.tolist()) == ([0.5], [1.5])


@given(st.integers(0, 10_000), st.integers(0, 6))
def test_the_rows_shown_are_rows_that_changed_in_fair_numbers(seed, count):
    before, after, truth, excluded, mask = case(seed)
    telling = telling_rows(before, after, truth, mask, K, count=count, seed=seed, excluded=excluded)
    was, _ = found_of_rows(before, truth, mask, K, excluded)
    now, _ = found_of_rows(after, truth, mask, K, excluded)
    assert (telling.better, telling.worse) == ((now > was).sum(), (now < was).sum())
    assert len(set(telling.rows.tolist())) == len(telling.rows) == min(count, telling.better + telling.worse)
    assert telling.gained.tolist() == (now - was)[telling.rows].tolist()
    assert (int((telling.gained > 0).sum()), int((telling.gained < 0).sum())) == shares(
        telling.better, telling.worse, count
    )
    again = telling_rows(before, after, truth, mask, K, count=count, seed=seed, excluded=excluded)
    assert telling.rows.tolist() == again.rows.tolist()


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 8))
def test_shares_are_in_proportion_and_leave_no_side_out(one, other, count):
    first, second = shares(one, other, count)
    assert first + second == min(count, one + other)
    assert 0 <= first <= one
    assert 0 <= second <= other
    if first + second > 1 and one and other:
        assert min(first, second) >= 1
    if one + other > count:
        exact = count * one / (one + other)
        assert abs(first - exact) <= max(0.5, 1 - min(exact, count - exact)) + 1e-9
