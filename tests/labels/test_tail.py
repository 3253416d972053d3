"""head_torso_tail: where the borders lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.labels import TailThresholds, head_torso_tail


def test_the_default_borders_are_inside_the_lower_slice() -> None:
    counts = np.array([0, 1, 5, 6, 50, 51, 9999])
    slices = head_torso_tail(counts)
    assert {name: counts[mask].tolist() for name, mask in slices.items()} == {
        "head": [51, 9999],
        "torso": [6, 50],
        "tail": [1, 5],
        "unseen": [0],
    }


@given(st.lists(st.integers(0, 80)), st.integers(1, 20), st.integers(0, 40))
def test_every_label_is_in_exactly_one_slice(counts: list[int], tail: int, more: int) -> None:
    slices = head_torso_tail(np.array(counts, dtype=np.int64), tail=tail, head=tail + more)
    assert np.array_equal(np.sum(list(slices.values()), axis=0), np.ones(len(counts)))


def test_wrong_settings_and_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="tail must be >= 1, got 0"):
        TailThresholds(tail=0)
    with pytest.raises(ValueError, match=r"head must be >= tail \(5\), got 4"):
        head_torso_tail(np.array([1]), head=4)
    with pytest.raises(ValueError, match="counts must be >= 0, got -3"):
        head_torso_tail(np.array([2, -3]))
    with pytest.raises(ValueError, match=r"counts must be integers \(labels,\), got float64"):
        head_torso_tail(np.array([2.5]))
