"""Clipping: a fixed norm, and AttentionXML's rule, computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from tailwright.training.clipping import AdaptiveClip, Clipper
from tailwright.training.module_network import ModuleOptimisers
from tailwright.training.phases import Plan


def test_a_hand_computed_sequence_of_norms():
    """10, 0.5, 20 meet an infinite start, so nothing is cut; 1, 0.5 and 1 are remembered of them."""
    clipper = Clipper(AdaptiveClip())
    assert [clipper.scale(norm) for norm in (10.0, 0.5, 20.0)] == [1.0, 1.0, 1.0]
    assert list(clipper.norms) == [math.inf, 1.0, 0.5, 1.0]
    # Two steps more, and the start is forgotten.
    assert [clipper.scale(norm) for norm in (0.25, 0.25)] == [1.0, 1.0]
    assert list(clipper.norms) == [1.0, 0.5, 1.0, 0.25, 0.25]
    assert clipper.scale(20.0) == 5 / 20


def test_the_same_sequence_once_the_start_is_forgotten():
    """With one norm remembered: limits infinity, 5 * 1, 5 * 0.5."""
    clipper = Clipper(AdaptiveClip(remembered=1))
    assert [clipper.scale(norm) for norm in (10.0, 0.5, 20.0)] == [1.0, 1.0, 2.5 / 20]
    # 20 is remembered as the smallest of 20, 2 * 0.5 and 1.
    assert list(clipper.norms) == [1.0]
    clipper.scale(0.125)
    assert clipper.scale(0.75) == 0.625 / 0.75
    assert list(clipper.norms) == [0.25]  # 2 * 0.125, though the norm was 0.75


def test_a_number_is_the_same_limit_for_every_step():
    clipper = Clipper(2.0)
    assert [clipper.scale(norm) for norm in (1.0, 8.0, 0.0)] == [1.0, 0.25, 1.0]
    assert Clipper(None).scale(1e9) == 1


def test_what_is_remembered_is_restored_in_order():
    clipper, again = Clipper(AdaptiveClip()), Clipper(AdaptiveClip())
    for norm in (0.5, 0.9, 3.0):
        clipper.scale(norm)
    again.restore(clipper.state())
    assert list(again.norms) == list(clipper.norms)
    assert again.norms.maxlen == 5


def test_gradients_of_steps_are_cut_by_the_rule():
    network = nn.ParameterDict({"dense": torch.zeros(2)})
    plan = Plan(1, 1, {"dense": 0.1}, clip=AdaptiveClip(remembered=1))
    optimisers = ModuleOptimisers(network, plan)
    means = []
    for gradient in (10.0, 0.5, 20.0):
        network["dense"].grad = torch.tensor([gradient, 0.0])
        optimisers.step(1.0)
        means.append(float(optimisers.dense["dense"].mean[0]))
    first, second = 1.0, 0.9 + 0.05
    np.testing.assert_allclose(means, [first, second, 0.9 * second + 0.1 * 2.5], rtol=1e-5)


@pytest.mark.parametrize("name", ["factor", "growth", "most", "remembered"])
def test_wrong_settings_are_named(name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        AdaptiveClip(**{name: 0})
