"""The phase that trains a `TokenNetwork`, with the hidden door in its forward pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch

from tailwright.data.batch_targets import BatchTargets, TargetRows
from tailwright.data.dataset import Dataset
from tailwright.encoders.dropout import drawing_from
from tailwright.encoders.mixing import Mixing
from tailwright.encoders.reading import RowReader
from tailwright.encoders.token_batches import bucketed_order
from tailwright.models.shared.token_network import TokenNetwork
from tailwright.training.hidden_door import HiddenDoor
from tailwright.training.phases import Phase, Plan
from tailwright.training.weights import Arrays


class TokenPhase(Phase):
    """Trains a network on rows; the rows of a batch are of similar length."""

    def __init__(
        self,
        name: str,
        network: TokenNetwork,
        reader: RowReader,
        data: Dataset,
        plan: Plan,
        *,
        door: HiddenDoor | None = None,
        validate: Callable[[], float] | None = None,
        watch: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        super().__init__(name, len(data), plan, validate=validate, watch=watch)
        self.network, self.reader, self.targets = network, reader, TargetRows(data)
        self.door = door or HiddenDoor()

    def prepare(self, epoch: int, seed: int) -> Arrays:
        order = bucketed_order(self.reader.lengths, self.plan.batch, seed, self.name, epoch)
        return {"order": order, "epoch": np.array([epoch])}

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        targets = self.targets(rows)
        passes = self.door.passes(targets, epoch=int(epoch["epoch"][0]), random=random)
        with drawing_from(random):
            losses = [self.loss_of_pass(rows, targets, mixing, random) for mixing in passes]
        return losses[0] if len(losses) == 1 else torch.stack(losses).mean()

    def loss_of_pass(
        self, rows: np.ndarray, targets: BatchTargets, mixing: Mixing | None, random: np.random.Generator
    ) -> torch.Tensor:
        """The loss of one forward pass of a batch."""
        encoded = self.reader(rows, mixing)
        learnt = targets if mixing is None else mixing.targets
        loss: torch.Tensor = self.network(encoded, learnt, mixing=mixing)
        return loss
