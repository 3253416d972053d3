"""Schedules warm up, then fall as their shape says."""

from __future__ import annotations

import pytest
import torch

from tailwright.training.schedules import Schedule


def test_constant_stays_at_one():
    assert {Schedule().factor(step, 10) for step in range(10)} == {1.0}


@pytest.mark.parametrize("shape", ["linear", "cosine"])
def test_decay_goes_from_one_towards_zero(shape):
    factors = [Schedule(shape).factor(step, 100) for step in range(100)]
    assert factors[0] == 1
    assert factors == sorted(factors, reverse=True)
    assert 0 < factors[-1] < 0.02
    assert factors[50] == pytest.approx(0.5)


def test_warm_up_rises_linearly_to_one():
    factors = [Schedule("linear", warmup=0.1).factor(step, 100) for step in range(100)]
    assert factors[:10] == pytest.approx([(i + 1) / 11 for i in range(10)])
    assert factors[10] == 1
    assert max(factors) == 1


def test_steps_fall_at_the_milestones():
    schedule = Schedule("step", milestones=(0.5, 0.8), drop=0.1)
    assert [schedule.factor(step, 10) for step in (4, 5, 8)] == pytest.approx([1, 0.1, 0.01])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shape": "zigzag"}, "shape must be one of constant, linear, cosine, step, one-cycle, got 'zigzag'"),
        ({"warmup": 1.0}, r"warmup must be in \[0, 1\), got 1.0"),
        ({"milestones": (0.5, 1.5)}, r"milestones must be in \(0, 1\)"),
        ({"drop": 0}, r"drop must be in \(0, 1\], got 0"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        Schedule(**settings)


@pytest.mark.parametrize(("steps", "warmup"), [(50, 0.33), (7, 0.3), (100, 0.5)])
def test_one_cycle_is_that_of_torch(steps, warmup):
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.SGD([parameter], lr=1.0)
    theirs = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, 1.0, steps, pct_start=warmup, div_factor=10, final_div_factor=1e4
    )
    for step in range(steps):
        mine = Schedule("one-cycle", warmup=warmup).factor(step, steps)
        assert mine == pytest.approx(theirs.get_last_lr()[0], rel=1e-9)
        optimiser.step()
        if step + 1 < steps:
            theirs.step()


def test_one_cycle_has_a_factor_for_few_steps():
    for steps in (1, 2, 3):
        factors = [Schedule("one-cycle", warmup=0.33).factor(step, steps) for step in range(steps)]
        assert all(0 < factor <= 1 for factor in factors)
