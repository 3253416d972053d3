"""The two phases of an `inceptionxml-lf` learner: label vectors out of texts, then free vectors besides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from tailwright.models.inceptionxml.phases import SynchronisedPhase
from tailwright.models.inceptionxml_lf.network import TextualHead
from tailwright.training.named_arrays import Arrays


class TextualPhase(SynchronisedPhase):
    """Without free vectors, or with them (`free`), which start with the first epoch of that phase.

    What the head holds besides weights is set whenever the phase is asked for something: a resumed training
    may begin anywhere.
    """

    def __init__(self, *fixed: Any, free: bool, **options: Any) -> None:
        super().__init__(*fixed, **options)
        self.free = free

    def _enter(self) -> TextualHead:
        head = self.network.head
        assert isinstance(head, TextualHead)
        head.enter(free=self.free)
        return head

    def prepare(self, epoch: int, seed: int) -> Arrays:
        head = self._enter()
        if self.free and self.begin + epoch == 0:
            head.start_free()
        return super().prepare(epoch, seed)

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        self._enter()
        return super().loss(rows, random, epoch)

    def validate(self) -> float | None:
        self._enter()
        return super().validate()

    def watched(self) -> Mapping[str, float]:
        self._enter()
        return super().watched()
