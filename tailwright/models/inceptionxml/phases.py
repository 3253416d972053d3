"""How an `inceptionxml` learner is trained: batches of rows at random; clusters first, then labels too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from tailwright.encoders.mixing import Mixing
from tailwright.heads.synchronised import Reach, SynchronisedHead
from tailwright.models.shared.token_phase import TokenPhase
from tailwright.training.batches import DrawnBatch, epoch_order
from tailwright.training.named_arrays import Arrays
from tailwright.training.workplace import Workplace


class ShuffledPhase(TokenPhase):
    """Batches are of rows at random: the statistics of a batch must be those of all texts."""

    def prepare(self, epoch: int, seed: int) -> Arrays:
        order = epoch_order(self.rows, seed, self.name, epoch)
        return {"order": order, "epoch": np.array([self.begin + epoch])}


class SynchronisedPhase(ShuffledPhase):
    """Clusters and labels together; for `meta_epochs` the encoder learns from clusters alone.

    The share of positives that the best clusters hold without teacher forcing is logged after each epoch.
    """

    def __init__(self, *fixed: Any, meta_epochs: int, work: Workplace, **options: Any) -> None:
        super().__init__(*fixed, **options)
        self.meta_epochs, self.work, self._detached = meta_epochs, work, False

    @property
    def head(self) -> SynchronisedHead:
        head = self.network.head
        assert isinstance(head, SynchronisedHead)
        return head

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        self._detached = int(epoch["epoch"][0]) < self.meta_epochs
        return super().loss(rows, random, epoch)

    def loss_of_pass(
        self, batch: DrawnBatch, mixing: Mixing | None, random: np.random.Generator
    ) -> torch.Tensor:
        encoded, learnt = self.read(batch, mixing, random)
        loss: torch.Tensor = self.network(encoded, learnt, mixing=mixing, detached=self._detached)
        return loss

    def watched(self) -> Mapping[str, float]:
        reach, self.head.reach = self.head.reach, Reach()
        if reach.positives:
            self.work.log("reach", phase=self.name, share=round(reach.reached / reach.positives, 4))
        return super().watched()
