"""Which parameters decay, and with which epsilon they are stepped."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tailwright.encoders.row_table import RowTable
from tailwright.training.module_network import ModuleOptimisers
from tailwright.training.phases import Plan
from tailwright.training.weight_decay import WeightDecay
from tailwright.training.weights import weights_of

SHAPES = {
    "encoder.dense.weight": (3, 3),
    "encoder.dense.bias": (3,),
    "encoder.LayerNorm.weight": (3,),
    "label_bias": (1, 5),
    "scale": (),
}


def decayed(decay: float | WeightDecay) -> set[str]:
    """The parameters that a step with a gradient of zero makes smaller."""
    network = nn.Module()
    for name, shape in SHAPES.items():
        *owners, own = name.split(".")
        module = network
        for owner in owners:
            if not hasattr(module, owner):
                module.add_module(owner, nn.Module())
            module = module.get_submodule(owner)
        module.register_parameter(own, nn.Parameter(torch.ones(shape)))
    optimisers = ModuleOptimisers(network, Plan(1, 1, dict.fromkeys(SHAPES, 0.5), weight_decay=decay))
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimisers.step(1.0)
    values = {name: round(float(weight.mean()), 4) for name, weight in weights_of(network).items()}
    assert set(values.values()) <= {1.0, 0.95}
    return {name for name, value in values.items() if value < 1}


def test_biases_and_norms_are_spared_and_a_number_spares_nothing():
    assert decayed(WeightDecay(0.1)) == {"encoder.dense.weight"}
    assert decayed(0.1) == set(SHAPES)


def test_what_is_spared_can_be_set():
    assert decayed(WeightDecay(0.1, spared=("bias",), spares_vectors=False)) == {
        "encoder.dense.weight",
        "encoder.LayerNorm.weight",
        "scale",
    }
    assert decayed(WeightDecay(0.1, spared=())) == {"encoder.dense.weight", "label_bias"}


def test_epsilon_reaches_tables_and_dense_parameters():
    def moved(epsilon: float) -> tuple[float, float]:
        network = nn.Module()
        network.table = RowTable(np.zeros((2, 1), dtype=np.float32))
        network.dense = nn.Parameter(torch.zeros(1))
        optimisers = ModuleOptimisers(network, Plan(1, 1, {"table": 0.1, "dense": 0.1}, epsilon=epsilon))
        (1e-3 * (network.table(np.array([1])).sum() + network.dense.sum())).backward()
        optimisers.step(1.0)
        return float(network.table.array[1, 0]), float(network.dense.detach()[0])

    # The first step is rate * g / (|g| + epsilon). Row-sparse Adam adds epsilon before the bias correction.
    assert moved(1e-8) == pytest.approx((-0.1, -0.1), rel=1e-3)
    slow = moved(1e-3)
    assert slow[1] == pytest.approx(-0.05, rel=1e-3)
    assert -0.05 < slow[0] < -0.001


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rate": -1.0}, "rate must be in \\[0, 1000\\], got -1.0"),
        ({"rate": 0.1, "spared": ("",)}, "spared must hold"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        WeightDecay(**settings)
