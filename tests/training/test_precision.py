"""The scale of the loss under mixed precision, and that nothing of it is at work on a CPU."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from tailwright.encoders.row_table import RowTable
from tailwright.training.module_network import ModuleOptimisers
from tailwright.training.phases import Plan
from tailwright.training.precision import LARGEST, PATIENCE, LossScale


class Network(nn.Module):
    """A table and a dense parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.table = RowTable(np.ones((3, 2), dtype=np.float32))
        self.dense = nn.Parameter(torch.ones(2))


def optimisers_of(network) -> ModuleOptimisers:
    return ModuleOptimisers(network, Plan(1, 1, {"table": 0.1, "dense": 0.1}, precision="mixed"))


def backward(network, factor: float) -> None:
    """Leave the gradients of `factor` times a loss in the network."""
    (factor * (network.table(np.array([0, 2])).square().sum() + network.dense.square().sum())).backward()


def test_on_a_cpu_mixed_precision_is_full_precision():
    scale = optimisers_of(Network()).loss_scale
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
    plain, scaled = Network(), Network()
    unscaled, optimisers = optimisers_of(plain), optimisers_of(scaled)
    backward(plain, 1.0)
    unscaled.step(1.0)
    optimisers.loss_scale = LossScale(active=True)
    backward(scaled, optimisers.loss_scale.value)
    optimisers.step(1.0)
    np.testing.assert_allclose(scaled.table.array, plain.table.array, rtol=1e-6)
    torch.testing.assert_close(scaled.dense, plain.dense)
    assert optimisers.loss_scale.good == 1


def test_a_step_that_overflows_is_left_out_and_its_gradients_are_forgotten():
    network = Network()
    optimisers = optimisers_of(network)
    optimisers.loss_scale = LossScale(active=True)
    backward(network, float("inf"))
    optimisers.step(1.0)
    assert (network.table.array == 1).all()
    assert torch.equal(network.dense.detach(), torch.ones(2))
    assert network.dense.grad is None
    assert optimisers.loss_scale.value == LARGEST / 2
    backward(network, optimisers.loss_scale.value)
    optimisers.step(1.0)
    assert np.isfinite(network.table.array).all()
    assert (network.dense < 1).all()
