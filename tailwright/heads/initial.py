"""What weights start at, drawn from the house's streams."""

from __future__ import annotations

import math

import numpy as np
import torch

from tailwright.streams import stream


def uniform(shape: tuple[int, ...], bound: float, seed: int, name: str) -> torch.Tensor:
    """float32, uniform in [-bound, bound); `name` is the stream."""
    drawn = stream(seed, name).random(shape, dtype=np.float32)
    drawn *= np.float32(2 * bound)
    drawn -= np.float32(bound)
    return torch.from_numpy(drawn)


def xavier_uniform(shape: tuple[int, int], seed: int, name: str) -> torch.Tensor:
    """Xavier (Glorot): the bound is the root of 6 / (inputs + outputs)."""
    return uniform(shape, math.sqrt(6 / max(sum(shape), 1)), seed, name)


def fan_in_uniform(shape: tuple[int, ...], inputs: int, seed: int, name: str) -> torch.Tensor:
    """What torch starts a linear layer with, its weight and its bias: the bound is 1 / root of the inputs."""
    return uniform(shape, 1 / math.sqrt(max(inputs, 1)), seed, name)


def standard_normal(shape: tuple[int, ...], seed: int, name: str) -> torch.Tensor:
    return torch.from_numpy(stream(seed, name).standard_normal(shape, dtype=np.float32))
