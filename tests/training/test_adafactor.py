"""Adafactor at a fixed rate: steps of the rate's size, and a state that can be kept."""

from __future__ import annotations

import pytest
import torch
from transformers.optimization import Adafactor

from tailwright.training.adafactor import FixedRateAdafactor
from tailwright.training.module_network import ModuleOptimisers
from tailwright.training.phases import Plan


def parameter() -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.linspace(-1, 1, 12).reshape(1, 12))


def gradients(count: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn((1, 12), generator=generator) for _ in range(count)]


def test_steps_are_those_of_transformers():
    ours, theirs = parameter(), parameter()
    optimiser = FixedRateAdafactor(ours, weight_decay=1e-2)
    reference = Adafactor(
        [theirs], lr=0.3, scale_parameter=False, relative_step=False, clip_threshold=1.0, weight_decay=1e-2
    )
    for gradient in gradients(5):
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        optimiser.step(0.3)
        reference.step()
        assert ours.grad is None
        assert torch.equal(ours, theirs)


def test_a_first_step_has_the_size_of_the_rate_whatever_the_gradient():
    for size in (1e-3, 1e3):
        weight = parameter()
        before = weight.detach().clone()
        weight.grad = size * gradients(1)[0]
        FixedRateAdafactor(weight).step(0.3)
        torch.testing.assert_close((weight.detach() - before).abs(), torch.full((1, 12), 0.3))


def test_a_restored_state_goes_on_to_the_same_bits():
    whole, halved = parameter(), parameter()
    first, second = FixedRateAdafactor(whole), FixedRateAdafactor(halved)
    for place, gradient in enumerate(gradients(6)):
        if place == 3:
            state = {name: array.copy() for name, array in second.state().items()}
            second = FixedRateAdafactor(halved)
            second.restore(state)
        whole.grad, halved.grad = gradient.clone(), gradient.clone()
        first.step(0.1)
        second.step(0.1)
    assert torch.equal(whole, halved)


def test_a_plan_chooses_it_and_vectors_are_refused():
    plan = Plan(rates={"weight": 0.3}, optimiser="adafactor")
    layer = torch.nn.Linear(3, 2, bias=False)
    assert isinstance(ModuleOptimisers(layer, plan).dense["weight"], FixedRateAdafactor)
    with pytest.raises(ValueError, match="two axes or more"):
        FixedRateAdafactor(torch.zeros(3))
