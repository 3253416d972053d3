"""The residual block: the identity has norm 1, the norm follows the weights."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.nn import functional

from tailwright.encoders.residual import SpectralResidual
from tailwright.streams import stream


def rows(count: int, width: int) -> torch.Tensor:
    return torch.from_numpy(stream(1, "rows").standard_normal((count, width), dtype=np.float32))


def test_a_new_block_adds_the_positive_part_whatever_its_vectors_are():
    x = rows(5, 8)
    for seed in range(3):
        block = SpectralResidual.new(8, seed, "block")
        torch.testing.assert_close(block(x, torch.ones_like(x)), x + functional.relu(x))
        np.testing.assert_allclose(block.settled()(x.numpy()), (x + functional.relu(x)).numpy(), rtol=1e-5)


def test_the_norm_approaches_the_largest_singular_value_a_step_at_a_time():
    block = SpectralResidual.new(6, 0, "block")
    block.weight[:] = torch.diag(torch.tensor([5.0, 1, 1, 1, 1, 0.5]))
    x, apart = rows(2, 6), []
    for _ in range(12):
        block(x, torch.ones_like(x))
        apart.append(abs(5 - float(block.vectors[0] @ block.weight @ block.vectors[1])))
    assert apart[-1] < 1e-4
    assert all(later <= earlier + 1e-6 for earlier, later in pairwise(apart))
    assert np.linalg.norm(block.settled().weight, 2) == pytest.approx(1, rel=1e-4)


def test_value_and_gradient_are_those_of_torchs_own_spectral_norm():
    x = rows(4, 5)
    mine = SpectralResidual.new(5, 3, "block")
    mine.weight[:] = rows(5, 5)
    linear = torch.nn.Linear(5, 5)
    linear.weight.data[:], linear.bias.data[:] = mine.weight, 0
    theirs = torch.nn.utils.parametrizations.spectral_norm(linear)
    norm = theirs.parametrizations.weight[0]
    norm._u.data[:], norm._v.data[:] = mine.vectors[0], mine.vectors[1]
    mine.weight.requires_grad_()
    found = mine(x, torch.ones_like(x))
    expected = x + functional.relu(theirs(x))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(mine.vectors, torch.stack([norm._u, norm._v]))
    found.square().sum().backward()
    expected.square().sum().backward()
    torch.testing.assert_close(mine.weight.grad, theirs.parametrizations.weight.original.grad)
