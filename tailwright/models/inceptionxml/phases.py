"""How an `inceptionxml` learner is trained: batches of rows at random; clusters first, then labels too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from tailwright.encoders.mixing import Mixing
from tailwright.heads.synchronised import Reach, SynchronisedHead
from tailwright.models.shared.token_phase import TokenPhase
from tailwright.training.batches import DrawnBatch, epoch_order
from tailwright.training.named_arrays import Arrays
from tailwright.training.workplace import Workplace


def shuffled_order(lengths: np.ndarray, batch: int, seed: int, phase: str, epoch: int) -> np.ndarray:
    """Rows at random, whatever their lengths: the statistics of a batch must be those of all texts."""
    return epoch_order(len(lengths), seed, phase, epoch)


def nothing() -> None:
    """Nothing to do."""


class SynchronisedPhase(TokenPhase):
    """Clusters and labels together; for `meta_epochs` the encoder learns from clusters alone.

    The share of positives that the best clusters hold without teacher forcing is logged after each epoch.
    What a head holds besides weights is set by `enter` whenever the phase is asked for something, as a
    resumed training may begin anywhere; `start` comes before the first epoch.
    """

    def __init__(
        self,
        *fixed: Any,
        meta_epochs: int,
        work: Workplace,
        enter: Callable[[], None] = nothing,
        start: Callable[[], None] = nothing,
        **options: Any,
    ) -> None:
        super().__init__(*fixed, order=shuffled_order, **options)
        self.meta_epochs, self.work, self.enter, self.start = meta_epochs, work, enter, start
        self._detached = False

    @property
    def head(self) -> SynchronisedHead:
        head = self.network.head
        assert isinstance(head, SynchronisedHead)
        return head

    def prepare(self, epoch: int, seed: int) -> Arrays:
        self.enter()
        if self.begin + epoch == 0:
            self.start()
        return super().prepare(epoch, seed)

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        self.enter()
        self._detached = int(epoch["epoch"][0]) < self.meta_epochs
        return super().loss(rows, random, epoch)

    def loss_of_pass(
        self, batch: DrawnBatch, mixing: Mixing | None, random: np.random.Generator
    ) -> torch.Tensor:
        encoded, learnt = self.read(batch, mixing, random)
        loss: torch.Tensor = self.network(encoded, learnt, mixing=mixing, detached=self._detached)
        return loss

    def validate(self) -> float | None:
        self.enter()
        return super().validate()

    def watched(self) -> Mapping[str, float]:
        self.enter()
        reach, self.head.reach = self.head.reach, Reach()
        if reach.positives:
            self.work.log("reach", phase=self.name, share=round(reach.reached / reach.positives, 4))
        return super().watched()
