"""What a checkpoint of the training loop holds, written and read: all that later steps depend on."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from tailwright.store import FolderReader, FolderWriter
from tailwright.training.named_arrays import Arrays
from tailwright.training.network import Network
from tailwright.training.optimisers import Optimisers
from tailwright.training.swa import Averages


@dataclass
class Place:
    """Where a run is: the next batch to do, and what its validations have shown so far."""

    phase: int = 0
    epoch: int = 0
    batch: int = 0
    loss: float = 0.0  # summed over the batches of this epoch
    best: float = -math.inf
    worse: int = 0  # validations since the best one

    def judged(self, quality: float) -> bool:
        """Take note of a validation; whether it is the best so far."""
        better = quality > self.best
        self.best, self.worse = (quality, 0) if better else (self.best, self.worse + 1)
        return better

    def stops(self, patience: int) -> bool:
        """Whether validation has not become better for `patience` times."""
        return self.best > -math.inf and self.worse >= patience


@dataclass
class RunState:
    """All that changes while a phase goes on."""

    place: Place
    network: Network
    optimisers: Optimisers
    averages: Averages
    changing: Callable[[], Collection[str]]  # the weights that some phase changes; no others are kept
    epoch: Arrays = field(default_factory=dict)
    best: Arrays = field(default_factory=dict)

    def save(self, folder: FolderWriter) -> None:
        """Write the checkpoint."""
        place = dataclasses.asdict(self.place)
        place["best"] = None if self.place.best == -math.inf else self.place.best
        folder.json("place.json", place)
        folder.tensors("weights", self.network.weights(self.changing()))
        folder.tensors("optimisers", dict(self.optimisers.state()))
        folder.tensors("averages", self.averages.state())
        folder.tensors("epoch", self.epoch)
        folder.tensors("best", self.best)

    def restore(self, folder: FolderReader) -> None:
        """Take in what `save` wrote."""
        self.place = read_place(folder)
        shapes = {n: weight.shape for n, weight in self.network.weights(self.changing()).items()}
        self.network.put(folder.tensors("weights", shapes=shapes))
        self.optimisers.restore(folder.tensors("optimisers"))
        self.averages.restore(folder.tensors("averages"))
        self.epoch = folder.tensors("epoch")
        self.best = folder.tensors("best")


def read_place(folder: FolderReader) -> Place:
    """The place that a checkpoint was written at."""
    place = folder.json("place.json")
    place["best"] = -math.inf if place["best"] is None else place["best"]
    return Place(**place)
