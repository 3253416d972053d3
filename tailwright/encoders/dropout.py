"""Dropout out of a batch's own stream, so that a resumed training drops the same cells.

A cell takes 16 random bits, so that the chance to drop it is right to 1 / 65,536: numpy gives these several
times as fast as numbers in [0, 1), and as torch its own masks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

LEVELS = 1 << 16


def dropped(values: torch.Tensor, drop: float, random: np.random.Generator | None) -> torch.Tensor:
    """The values with cells set to zero at the rate `drop` and the others scaled up; all without `random`."""
    if random is None or drop == 0:
        return values
    return values * kept_cells(random, tuple(values.shape), drop).to(values.device)


def kept_cells(random: np.random.Generator, shape: tuple[int, ...], drop: float) -> torch.Tensor:
    """A dropout mask out of the batch's own stream: 0 with chance `drop`, else 1 / (1 - drop)."""
    return _chosen(random, shape, 1 - drop).float() / (1 - drop)


@contextmanager
def torch_draws_from(random: np.random.Generator, device: torch.device) -> Iterator[None]:
    """Within the block torch's own generators draw as `random` says, and are then as they were before.

    For modules of others, whose dropout asks torch.
    """
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(int(random.integers(1 << 62)))
        with quick_masks(device):
            yield


def quick_masks(device: torch.device) -> AbstractContextManager[Any]:
    """Within the block the masks of torch's own dropout are drawn here, if they are on the CPU.

    Of torch's generator a mask takes its seed: where the generator's state is put back, as gradient
    checkpointing does to compute a layer again, the masks are the same.
    """
    return _QuickMasks() if device.type == "cpu" else nullcontext()  # type: ignore[no-untyped-call]


class _QuickMasks(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Does what torch would do, but for `bernoulli_`, by which dropout draws its masks on the CPU."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is torch.ops.aten.bernoulli_.float:
            cells, chance = args if len(args) > 1 else (*args, 0.5)  # torch leaves out its defaults
            seed = int(torch.randint(1 << 62, ()))
            random = np.random.Generator(np.random.SFC64(seed))
            return cells.copy_(_chosen(random, tuple(cells.shape), chance))
        return func(*args, **(kwargs or {}))


def _chosen(random: np.random.Generator, shape: tuple[int, ...], chance: float) -> torch.Tensor:
    """Of that shape, bool: True with that chance."""
    cells = math.prod(shape)
    drawn = random.bit_generator.random_raw(-(-cells // 4)).view(np.uint16)[:cells]
    return torch.from_numpy(drawn < round(chance * LEVELS)).view(shape)
