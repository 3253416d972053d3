"""Dropout that draws from the batch's own stream, so that a resumed training drops the same cells.

A cell takes 16 random bits, so its probability is right to 1 / 65,536. NumPy draws these several times as
fast as numbers in [0, 1), and as fast as torch draws its own masks (benchmarks/bench_dropout.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from tailwright.kernels.dropped_relu import dropped_relu, dropped_relu_gradient

LEVELS = 1 << 16


_streams: list[np.random.Generator] = []  # the last one is at work


@contextmanager
def drawing_from(random: np.random.Generator) -> Iterator[None]:
    """Within the block, `Dropout` draws from `random`, the batch's own stream."""
    _streams.append(random)
    try:
        yield
    finally:
        _streams.pop()


def current_stream() -> np.random.Generator:
    """The stream of the batch at work."""
    if not _streams:
        raise RuntimeError("a module in training mode draws outside of drawing_from")
    return _streams[-1]


class Dropout(nn.Dropout):
    """`nn.Dropout` whose masks come from the stream of the batch at work."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if not self.training or self.p == 0:
            return input
        return input * kept_cells(current_stream(), tuple(input.shape), self.p).to(input.device)

    def of_relu(self, input: torch.Tensor) -> torch.Tensor:
        """The same of relu(input), to the bit; on a CPU in one pass over it."""
        keeps = round((1 - self.p) * LEVELS) > 0  # a rate next to 1 drops all
        if not (self.training and self.p and keeps) or input.device.type != "cpu":
            return self(functional.relu(input))
        drawn = _drawn(current_stream(), input.numel())
        result: torch.Tensor = _DroppedRelu.apply(input, drawn, 1 - self.p)  # type: ignore[no-untyped-call]
        return result


class _DroppedRelu(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: torch.Tensor, drawn: np.ndarray, kept: float) -> torch.Tensor:
        out = torch.empty(x.shape)
        context.factor = float(torch.ones(()) / kept)  # rounded as the mask of the other layers is
        cells = x.detach().contiguous().view(-1).numpy()
        dropped_relu(cells, drawn, round(kept * LEVELS), context.factor, out.view(-1).numpy())
        context.save_for_backward(out)
        return out

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (out,) = context.saved_tensors
        gradient, of_x = gradients[0].contiguous().view(-1).numpy(), torch.empty(out.shape)
        dropped_relu_gradient(out.view(-1).numpy(), gradient, context.factor, of_x.view(-1).numpy())
        return of_x, None, None


def kept_cells(random: np.random.Generator, shape: tuple[int, ...], drop: float) -> torch.Tensor:
    """A dropout mask out of the batch's own stream: 0 with probability `drop`, else 1 / (1 - drop)."""
    return _chosen(random, shape, 1 - drop).float() / (1 - drop)


@contextmanager
def torch_draws_from(random: np.random.Generator, device: torch.device) -> Iterator[None]:
    """Within the block torch's own generators are seeded from `random`; afterwards they are as before.

    For modules of other libraries, whose dropout asks torch.
    """
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(int(random.integers(1 << 62)))
        with quick_masks(device):
            yield


def quick_masks(device: torch.device) -> AbstractContextManager[Any]:
    """Within the block the masks of torch's own dropout are drawn here, if they are on the CPU.

    A mask takes its seed from torch's generator: where gradient checkpointing resets the generator to compute
    a layer again, the masks are the same.
    """
    return _QuickMasks() if device.type == "cpu" else nullcontext()  # type: ignore[no-untyped-call]


class _QuickMasks(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Does what torch would do, but for `bernoulli_`, by which dropout draws its masks on the CPU."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is torch.ops.aten.bernoulli_.float:
            cells, probability = args if len(args) > 1 else (*args, 0.5)  # torch leaves out its defaults
            seed = int(torch.randint(1 << 62, ()))
            random = np.random.Generator(np.random.SFC64(seed))
            return cells.copy_(_chosen(random, tuple(cells.shape), probability))
        return func(*args, **(kwargs or {}))


def _chosen(random: np.random.Generator, shape: tuple[int, ...], probability: float) -> torch.Tensor:
    """Of that shape, bool: True with that probability."""
    return torch.from_numpy(_drawn(random, math.prod(shape)) < round(probability * LEVELS)).view(shape)


def _drawn(random: np.random.Generator, cells: int) -> np.ndarray:
    """(cells,) uint16."""
    drawn: np.ndarray = random.bit_generator.random_raw(-(-cells // 4)).view(np.uint16)[:cells]
    return drawn
