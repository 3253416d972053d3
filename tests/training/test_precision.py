"""The scale of the loss under mixed precision, and that nothing of it is at work on a CPU."""

from __future__ import annotations

import numpy as np
import torch

from tailwright.encoders.row_table import RowTable
from tailwright.training.optimisers import Optimisers
from tailwright.training.phases import Plan
from tailwright.training.precision import LARGEST, PATIENCE, LossScale


def new_parts() -> dict[str, RowTable | torch.Tensor]:
    return {"table": RowTable(np.ones((3, 2), dtype=np.float32)), "dense": torch.ones(2)}


def optimisers_of(parts) -> Optimisers:
    return Optimisers(parts, Plan(1, 1, dict.fromkeys(parts, 0.1), precision="mixed"))


def backward(parts, factor: float) -> None:
    """Leave the gradients of `factor` times a loss in the parts."""
    (
        factor * (parts["table"].rows(np.array([0, 2])).square().sum() + parts["dense"].square().sum())
    ).backward()


def test_on_a_cpu_mixed_precision_is_full_precision():
    scale = optimisers_of(new_parts()).loss_scale
    assert (scale.active, scale.value) == (False, 1.0)
    scale.update(finite=False)
    assert scale.value == 1
    with scale.context():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32


def test_the_scale_is_halved_by_an_overflow_and_doubled_after_many_good_steps():
    scale = LossScale(active=True)
    assert scale.value == LARGEST
    scale.update(finite=False)
    scale.update(finite=False)
    assert scale.value == LARGEST / 4
    for _ in range(PATIENCE - 1):
        scale.update(finite=True)
    assert scale.value == LARGEST / 4
    again = LossScale(active=True)
    again.restore(scale.state())
    again.update(finite=True)
    assert (again.value, again.good) == (LARGEST / 2, PATIENCE)


def test_a_scaled_loss_makes_the_same_step():
    plain, scaled = new_parts(), new_parts()
    unscaled, optimisers = optimisers_of(plain), optimisers_of(scaled)
    backward(plain, 1.0)
    unscaled.step(1.0)
    optimisers.loss_scale = LossScale(active=True)
    backward(scaled, optimisers.loss_scale.value)
    optimisers.step(1.0)
    np.testing.assert_allclose(scaled["table"].weight, plain["table"].weight, rtol=1e-6)
    torch.testing.assert_close(scaled["dense"], plain["dense"])
    assert optimisers.loss_scale.good == 1


def test_a_step_that_overflows_is_left_out_and_its_gradients_are_forgotten():
    parts = new_parts()
    optimisers = optimisers_of(parts)
    optimisers.loss_scale = LossScale(active=True)
    backward(parts, float("inf"))
    optimisers.step(1.0)
    assert (parts["table"].weight == 1).all()
    assert torch.equal(parts["dense"].detach(), torch.ones(2))
    assert parts["dense"].grad is None
    assert optimisers.loss_scale.value == LARGEST / 2
    backward(parts, optimisers.loss_scale.value)
    optimisers.step(1.0)
    assert np.isfinite(parts["table"].weight).all()
    assert (parts["dense"] < 1).all()
