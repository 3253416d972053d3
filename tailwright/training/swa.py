"""Stochastic weight averaging: the running mean of the weights that training goes through.

From the beginning of an epoch on, the mean of snapshots is kept beside the weights, the first of which is
what the weights are at that moment. Training goes on with the weights themselves; validation, the best
weights and what a phase ends with are the means. There are no batch statistics to be taken anew.

AttentionXML counts steps through the whole training, LightXML from 0 in each epoch: it also takes the weights
after the first step of every epoch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tailwright.settings import Settings, setting
from tailwright.training.named_arrays import Arrays

if TYPE_CHECKING:
    from tailwright.training.network import Network

Counted = Literal["phase", "epoch"]


@dataclass(frozen=True)
class Averaging(Settings):
    """When snapshots are taken.

    >>> [step for step in range(6) if Averaging(0, 2).due(step, step % 3)]
    [1, 3, 5]
    >>> [step for step in range(6) if Averaging(0, 2, "epoch").due(step, step % 3)]
    [0, 2, 3, 5]
    """

    start: int = setting(0, "epoch, from 0, at the beginning of which the first is taken", least=0)
    every: int = setting(1, "steps between the others", least=1)
    counted: Counted = setting("phase", "after steps n, 2n, ... of a phase, or 1, n + 1, ... of an epoch")

    def due(self, step: int, batch: int) -> bool:
        """Whether a snapshot follows that step of the phase, which is that batch of its epoch, from 0."""
        return batch % self.every == 0 if self.counted == "epoch" else (step + 1) % self.every == 0


class Averages:
    """The means of the named weights, on the CPU; none before `averaging.start` or without `averaging`."""

    def __init__(self, averaging: Averaging | None, network: Network, names: Collection[str]) -> None:
        self.averaging, self.network, self.names = averaging, network, tuple(names)
        self.count = 0  # snapshots so far
        self.means: Arrays = {}

    def begin_epoch(self, epoch: int) -> None:
        """Take the first snapshot if it is time for it."""
        if self.averaging is not None and not self.count and epoch >= self.averaging.start:
            self.means = {name: array.copy() for name, array in self._weights().items()}
            self.count = 1

    def after_step(self, step: int, batch: int) -> None:
        """Take in the weights as they are if a snapshot is due."""
        if self.averaging is None or not self.count or not self.averaging.due(step, batch):
            return
        self.count += 1
        for name, weight in self._weights().items():
            mean = self.means[name]
            mean += (weight - mean) / np.float32(self.count)

    @contextmanager
    def swapped_in(self) -> Iterator[None]:
        """Within it the weights are the means, if there are some; then what they were before, bit for bit."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        # One by one, so that no third copy of all weights is made.
        for name, weight in self.network.weights(self.means.keys()).items():
            before, mean = weight.copy(), self.means[name]
            self.network.put({name: mean})
            mean[...] = before

    def state(self) -> Arrays:
        """What a checkpoint keeps."""
        means = {f"mean.{name}": mean for name, mean in self.means.items()}
        return {"count": np.array([self.count]), **means}

    def restore(self, state: Arrays) -> None:
        """Take in what `state` gave."""
        self.count = int(state["count"][0])
        self.means = {name: state[f"mean.{name}"] for name in self.names} if self.count else {}

    def _weights(self) -> Arrays:
        return self.network.weights(self.names)
