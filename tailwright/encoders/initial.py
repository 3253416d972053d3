"""What the layers of encoders start at."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn


@torch.no_grad()
def start_xavier(layer: nn.Conv1d | nn.Linear, random: np.random.Generator) -> None:
    """Xavier-uniform weights, drawn from `random`, and biases of zero.

    The axes behind the second are the places that a filter spans.
    """
    shape = tuple(layer.weight.shape)
    bound = np.float32((6 / ((shape[0] + shape[1]) * int(np.prod(shape[2:])))) ** 0.5)
    layer.weight.copy_(torch.from_numpy(bound * (2 * random.random(shape, dtype=np.float32) - 1)))
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
