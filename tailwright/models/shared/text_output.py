"""`Output`: what stands on an encoder and turns what it read into scores, one interface for all heads.

| output | head | reads |
|---|---|---|
| `AttendedOutput` | label attention: label-specific, or a shared network | a vector a token |
| `DenseOutput` | one linear layer, with dropout before it | a vector a text |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from tailwright.encoders.dropout import dropped
from tailwright.encoders.reading import Read
from tailwright.encoders.row_table import RowTable
from tailwright.evaluation.ranking import TopK
from tailwright.heads.attended_head import AttendedHead
from tailwright.heads.batch_targets import BatchTargets
from tailwright.heads.dense_scores import DenseHead


class Output(ABC):
    """A head over all labels."""

    @abstractmethod
    def parts(self, prefix: str) -> Mapping[str, RowTable | torch.Tensor]:
        """What is learnt, by name."""

    @abstractmethod
    def loss(self, read: Read, targets: BatchTargets, random: np.random.Generator) -> torch.Tensor:
        """Binary cross-entropy, the mean over texts and labels; `random` is the batch's stream."""

    @abstractmethod
    def top_k(self, read: Read, k: int) -> TopK:
        """The k best labels of each text with their log-odds, equal ones by smaller label."""


@dataclass(frozen=True, eq=False)
class AttendedOutput(Output):
    """A head that attends to tokens."""

    head: AttendedHead

    def parts(self, prefix: str) -> Mapping[str, torch.Tensor]:
        return self.head.parts(prefix)

    def loss(self, read: Read, targets: BatchTargets, random: np.random.Generator) -> torch.Tensor:
        return self.head.loss(read.states, _mask(read), targets)

    def top_k(self, read: Read, k: int) -> TopK:
        return self.head.top_k(read.states, _mask(read), k)


@dataclass(frozen=True, eq=False)
class DenseOutput(Output):
    """A linear layer; `drop` is the dropout on what it multiplies."""

    head: DenseHead
    drop: float = 0.0

    def parts(self, prefix: str) -> Mapping[str, torch.Tensor]:
        return self.head.parts(prefix)

    def loss(self, read: Read, targets: BatchTargets, random: np.random.Generator) -> torch.Tensor:
        return self.head.loss(dropped(read.states, self.drop, random), targets)

    def top_k(self, read: Read, k: int) -> TopK:
        return self.head.top_k(read.states, k)


def _mask(read: Read) -> torch.Tensor:
    if read.mask is None:
        raise ValueError("label attention needs an encoder that gives a vector a token")
    return read.mask
