"""The residual layer: the identity has norm 1, the norm follows the weights."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.nn import functional

from tailwright.encoders.dropout import drawing_from, kept_cells
from tailwright.encoders.residual import (
    GatedResidual,
    ScaledResidual,
    SpectralLinear,
    SpectralMap,
    SpectralResidual,
)
from tailwright.streams import stream


def rows(count: int, width: int) -> torch.Tensor:
    return torch.from_numpy(stream(1, "rows").standard_normal((count, width), dtype=np.float32))


def with_weight(layer: SpectralLinear, weight: torch.Tensor) -> SpectralLinear:
    layer.weight.data[:] = weight
    return layer


def test_a_new_layer_adds_the_positive_part_whatever_its_vectors_are():
    x = rows(5, 8)
    for seed in range(3):
        layer = SpectralResidual(8, 0.5, seed, "layer")
        torch.testing.assert_close(layer.linear.eval()(x).detach(), x)
        torch.testing.assert_close(layer.linear.train()(x).detach(), x)
        np.testing.assert_allclose(layer.eval()(x).detach(), x + functional.relu(x), rtol=1e-5)


def test_the_norm_approaches_the_largest_singular_value_a_step_at_a_time():
    largest = torch.diag(torch.tensor([5.0, 1, 1, 1, 1, 0.5]))
    layer = with_weight(SpectralLinear(6, 0, "layer"), largest)
    x, apart = rows(2, 6), []
    for _ in range(12):
        layer(x)
        apart.append(abs(5 - float(layer.vectors[0] @ layer.weight.detach() @ layer.vectors[1])))
    assert apart[-1] < 1e-4
    assert all(later <= earlier + 1e-6 for earlier, later in pairwise(apart))
    assert np.linalg.norm(layer.normalised().detach(), 2) == pytest.approx(1, rel=1e-4)


def test_in_evaluation_the_norm_stays_where_it_is():
    layer = with_weight(SpectralLinear(300, 0, "layer"), rows(300, 300)).eval()
    before, x = layer.vectors.clone(), rows(20, 300)
    found = layer(x).detach()
    assert torch.equal(layer.vectors, before)
    weight = layer.weight.detach() / (before[0] @ layer.weight.detach() @ before[1])
    torch.testing.assert_close(found, functional.linear(x, weight, layer.bias.detach()), rtol=1e-4, atol=1e-4)


def test_value_and_gradient_are_those_of_torchs_own_spectral_norm():
    x = rows(4, 5)
    mine = with_weight(SpectralLinear(5, 3, "layer"), rows(5, 5))
    linear = torch.nn.Linear(5, 5)
    linear.weight.data[:], linear.bias.data[:] = mine.weight.detach(), 0
    theirs = torch.nn.utils.parametrizations.spectral_norm(linear)
    norm = theirs.parametrizations.weight[0]
    norm._u.data[:], norm._v.data[:] = mine.vectors[0], mine.vectors[1]
    found, expected = mine(x), theirs(x)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(mine.vectors, torch.stack([norm._u, norm._v]))
    functional.relu(found).square().sum().backward()
    functional.relu(expected).square().sum().backward()
    torch.testing.assert_close(mine.weight.grad, theirs.parametrizations.weight.original.grad)


def test_dropout_is_on_the_branch_alone_and_drawn_from_the_batch():
    x, layer = rows(30, 8), SpectralResidual(8, 0.5, 0, "layer")
    with drawing_from(np.random.default_rng(4)):
        found = layer(x).detach()
    kept = kept_cells(np.random.default_rng(4), (30, 8), 0.5)
    assert 0.2 < float((kept == 0).float().mean()) < 0.8
    torch.testing.assert_close(found, x + kept * functional.relu(x))


def test_a_new_gated_layer_counts_its_branch_and_its_input_half():
    x = rows(5, 8)
    expected = (functional.relu(x) + x) / 2
    torch.testing.assert_close(GatedResidual(8, 0.5, 0, "layer").eval()(x).detach(), expected)


def test_a_new_scaled_layer_adds_the_positive_part():
    x = rows(5, 8)
    torch.testing.assert_close(ScaledResidual(8, 0.5, 0, "layer").eval()(x).detach(), x + functional.relu(x))


@pytest.mark.parametrize("kind", [GatedResidual, ScaledResidual])
def test_dropout_of_the_branch_comes_before_its_linear_layer(kind):
    x, layer = rows(30, 8), kind(8, 0.5, 0, "layer")
    with_weight(layer.linear, rows(8, 8))
    with drawing_from(np.random.default_rng(4)):
        found = layer(x).detach()
    kept = kept_cells(np.random.default_rng(4), (30, 8), 0.5)
    branch = (kept * functional.relu(x)) @ layer.linear.normalised().detach().T
    expected = (branch + x) / 2 if kind is GatedResidual else x + branch
    torch.testing.assert_close(found, expected)


def test_a_map_between_widths_is_torchs_own_spectral_norm():
    x, mine = rows(4, 5), SpectralMap(5, 3, 0, "map")
    linear = torch.nn.Linear(5, 3)
    linear.weight.data[:], linear.bias.data[:] = mine.weight.detach(), 0
    theirs = torch.nn.utils.parametrizations.spectral_norm(linear)
    norm = theirs.parametrizations.weight[0]
    norm._u.data[:], norm._v.data[:] = mine.left, mine.right
    found, expected = mine(x), theirs(x)
    torch.testing.assert_close(found, expected)
    found.square().sum().backward()
    expected.square().sum().backward()
    torch.testing.assert_close(mine.weight.grad, theirs.parametrizations.weight.original.grad)
