"""Expected calibration error: against a plain double loop, with excluded pairs, by slice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tailwright.data.pairs import pairs_from_lists
from tailwright.evaluation.reliability import BINS, calibration_errors

LABELS = 6


def plain_error(top_ids, probabilities, truth, k, excluded, mask) -> float | None:
    """The definition of docs/metrics.md, pair by pair."""
    pairs = []
    for row, ids in enumerate(top_ids):
        left = [
            (label, probabilities[row, place])
            for place, label in enumerate(ids)
            if label >= 0 and not excluded[row, label]
        ]
        pairs += [(said, truth[row, label]) for label, said in left[:k] if mask[label]]
    if not pairs:
        return None
    gaps = [0.0] * BINS
    for said, true in pairs:
        gaps[min(int(said * BINS), BINS - 1)] += said - true
    return 100 * sum(map(abs, gaps)) / len(pairs)


@st.composite
def rankings(draw):
    rows = draw(st.integers(1, 5))
    ids = np.array([draw(st.permutations([*range(LABELS), -1, -1])) for _ in range(rows)], dtype=np.int32)
    unit = st.floats(0, 1, width=32)
    size = ids.shape[0] * ids.shape[1]
    probabilities = np.array(draw(st.lists(unit, min_size=size, max_size=size))).reshape(ids.shape)
    cells = st.lists(st.sampled_from([0, 0, 0.5, 1]), min_size=rows * LABELS, max_size=rows * LABELS)
    truth, excluded = (np.array(draw(cells)).reshape(rows, LABELS) for _ in range(2))
    mask = np.array(draw(st.lists(st.booleans(), min_size=LABELS, max_size=LABELS)))
    return ids, probabilities, truth, excluded > 0.5, mask


@given(rankings())
def test_it_is_what_the_definition_says(case):
    ids, probabilities, truth, excluded, mask = case
    found = calibration_errors(
        ids,
        probabilities,
        sparse.csr_array(truth),
        (1, 3, 10),
        sparse.csr_array(excluded.astype(np.float32)),
        mask,
    )
    for k in (1, 3, 10):
        wanted = plain_error(ids, probabilities, truth, k, excluded, mask)
        assert found.get(f"ECE@{k}") == (None if wanted is None else pytest.approx(wanted, abs=1e-5))


def test_probabilities_that_hold_have_no_error_and_certainty_that_is_wrong_has_all():
    ids, truth = np.zeros((4, 1), np.int32), pairs_from_lists([[0], [0], [0], []], 2)
    assert calibration_errors(ids, np.full((4, 1), 0.75), truth, (1,)) == {"ECE@1": 0.0}
    assert calibration_errors(ids, np.ones((4, 1)), pairs_from_lists([[]] * 4, 2), (1,)) == {"ECE@1": 100.0}


def test_without_any_prediction_there_is_no_error_to_speak_of():
    assert (
        calibration_errors(np.full((2, 3), -1), np.zeros((2, 3)), pairs_from_lists([[0], []], 2), (1,)) == {}
    )
