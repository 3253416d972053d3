"""Dropout out of a batch's own stream, so that a resumed training drops the same cells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from tailwright.encoders.residual import kept_cells


def dropped(values: torch.Tensor, drop: float, random: np.random.Generator | None) -> torch.Tensor:
    """The values with cells set to zero at the rate `drop` and the others scaled up; all without `random`."""
    if random is None or drop == 0:
        return values
    return values * kept_cells(random, tuple(values.shape), drop).to(values.device)


@contextmanager
def torch_draws_from(random: np.random.Generator, device: torch.device) -> Iterator[None]:
    """Within the block torch's own generators draw as `random` says, and are then as they were before.

    For modules of others, whose dropout asks torch.
    """
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(int(random.integers(1 << 62)))
        yield
