"""What a checkpoint of the training loop holds, written and read: all that later steps depend on."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tailwright.store import FolderReader, FolderWriter
from tailwright.training.named_arrays import Arrays
from tailwright.training.network import Network
from tailwright.training.optimisers import Optimisers
from tailwright.training.sharing import lend, made_whole, own_parts, whole_shape
from tailwright.training.swa import Averages
from tailwright.training.team import current_team


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

    def save(self, folder: FolderWriter, *, scratch: Path | None = None) -> None:
        """Write the checkpoint; `scratch` is where sharded tables are made whole."""
        place = dataclasses.asdict(self.place)
        place["best"] = None if self.place.best == -math.inf else self.place.best
        folder.json("place.json", place)
        team, shards = current_team(), self.network.shards()
        for name, arrays in self._arrays():
            folder.tensors(name, made_whole(arrays, shards, team, scratch))

    def lend(self) -> None:
        """Give the leader of the team, who saves, what only this process has."""
        for _, arrays in self._arrays():
            lend(arrays, self.network.shards(), current_team())

    def _arrays(self) -> Iterator[tuple[str, Arrays]]:
        """What is kept, by the name of its file."""
        yield "weights", self.network.weights(self.changing())
        yield "optimisers", dict(self.optimisers.state())
        yield "averages", self.averages.state()
        yield "epoch", self.epoch
        yield "best", self.best

    def restore(self, folder: FolderReader) -> None:
        """Take in what `save` wrote."""
        self.place = read_place(folder)
        shards = self.network.shards()
        weights = self.network.weights(self.changing())
        shapes = {name: whole_shape(name, weight.shape, shards) for name, weight in weights.items()}
        self.network.put(own_parts(folder.tensors("weights", shapes=shapes), shards))
        self.optimisers.restore(own_parts(folder.tensors("optimisers"), shards))
        self.averages.restore(own_parts(folder.tensors("averages"), shards))
        self.epoch = folder.tensors("epoch")
        self.best = own_parts(folder.tensors("best"), shards)


def read_place(folder: FolderReader) -> Place:
    """The place that a checkpoint was written at."""
    place = folder.json("place.json")
    place["best"] = -math.inf if place["best"] is None else place["best"]
    return Place(**place)
