"""Initial weights, drawn from streams of their own."""

from __future__ import annotations

import math

import numpy as np
import torch

from tailwright.heads.shards import LabelShard
from tailwright.streams import stream

# Numbers that are drawn at a time where only some rows are kept.
DRAWN_AT_A_TIME = 2**22


def xavier_uniform(
    shape: tuple[int, int], seed: int, name: str, part: LabelShard | None = None
) -> torch.Tensor:
    """Xavier (Glorot): uniform below the root of 6 / (inputs + outputs); `name` is the stream.

    With `part`, these rows of it alone.
    """
    return _uniform(shape, math.sqrt(6 / max(sum(shape), 1)), seed, name, part)


def fan_in_uniform(
    shape: tuple[int, ...], inputs: int, seed: int, name: str, part: LabelShard | None = None
) -> torch.Tensor:
    """As `torch.nn.Linear` draws its weight and its bias: uniform below 1 / root of the inputs.

    With `part`, these rows of it alone.
    """
    return _uniform(shape, 1 / math.sqrt(max(inputs, 1)), seed, name, part)


def _uniform(
    shape: tuple[int, ...], bound: float, seed: int, name: str, part: LabelShard | None
) -> torch.Tensor:
    """float32, uniform in [-bound, bound)."""
    random = stream(seed, name)
    if part is None:
        drawn = random.random(shape, dtype=np.float32)
    else:
        # The stream gives row after row, so rows before the part are drawn and dropped, a block at a time.
        width = math.prod(shape[1:])
        before = part.start * width
        for begin in range(0, before, DRAWN_AT_A_TIME):
            random.random(min(before - begin, DRAWN_AT_A_TIME), dtype=np.float32)
        drawn = random.random((len(part), *shape[1:]), dtype=np.float32)
    drawn *= np.float32(2 * bound)
    drawn -= np.float32(bound)
    return torch.from_numpy(drawn)
