"""Initial weights, drawn from streams of their own."""

from __future__ import annotations

import math

import numpy as np
import torch

from tailwright.streams import stream


def xavier_uniform(shape: tuple[int, int], seed: int, name: str) -> torch.Tensor:
    """Xavier (Glorot): uniform below the root of 6 / (inputs + outputs); `name` is the stream."""
    return _uniform(shape, math.sqrt(6 / max(sum(shape), 1)), seed, name)


def fan_in_uniform(shape: tuple[int, ...], inputs: int, seed: int, name: str) -> torch.Tensor:
    """As `torch.nn.Linear` draws its weight and its bias: uniform below 1 / root of the inputs."""
    return _uniform(shape, 1 / math.sqrt(max(inputs, 1)), seed, name)


def _uniform(shape: tuple[int, ...], bound: float, seed: int, name: str) -> torch.Tensor:
    """float32, uniform in [-bound, bound)."""
    drawn = stream(seed, name).random(shape, dtype=np.float32)
    drawn *= np.float32(2 * bound)
    drawn -= np.float32(bound)
    return torch.from_numpy(drawn)
