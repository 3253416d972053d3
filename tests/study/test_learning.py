"""Whether a training had stopped learning: by its curve on validation rows, and by nothing else."""

from __future__ import annotations

import pytest

from tailwright.study.run.learning import stopped_learning


def log_of(values, planned=None, phase="heads", event="epoch"):
    start = {"event": "start", "phase": phase, "epochs": planned or len(values)}
    place = "epoch" if event == "epoch" else "step"
    return [start, *({"event": event, "phase": phase, "epoch": 1, place: i, "valid": v} for i, v in values)]


def numbered(*values):
    return list(enumerate(values, 1))


@pytest.mark.parametrize(
    ("values", "stopped"),
    [
        ((40, 60, 64, 64.5, 64.2), True),
        ((40, 50, 60, 61.1), False),
        ((40, 62, 60, 63), True),
        ((64, 63, 62), True),
        ((40, 50, 60, 60.5, 61), True),
        ((10, 20, 30, 40, 50, 60, 70, 80, 90, 90.9), False),
        ((40, 60), None),
        ((), None),
    ],
)
def test_a_training_has_stopped_learning_where_the_end_of_its_curve_gains_a_point_at_most(values, stopped):
    assert stopped_learning(log_of(numbered(*values))) is stopped


def test_a_training_that_validation_ended_early_has_stopped_learning():
    assert stopped_learning(log_of(numbered(10, 50), planned=10)) is True
    assert stopped_learning(log_of(numbered(10, 50), planned=2)) is None


def test_validations_by_steps_are_a_curve_too():
    assert stopped_learning(log_of(numbered(10, 40, 60), planned=1, event="validation")) is False


def test_the_last_phase_with_a_curve_counts_and_an_epoch_that_was_logged_twice_counts_once():
    first, last = log_of(numbered(10, 20, 30)), log_of(numbered(50, 50, 50), phase="both")
    assert stopped_learning([*first, *last]) is True
    assert stopped_learning([*last, *first]) is False
    again = {"event": "epoch", "phase": "heads", "epoch": 2, "valid": 20}
    assert stopped_learning([*log_of(numbered(10, 20)), again]) is None


def test_a_loss_alone_says_nothing():
    assert (
        stopped_learning([{"event": "epoch", "phase": "a", "epoch": i, "loss": 0.1} for i in range(9)])
        is None
    )
