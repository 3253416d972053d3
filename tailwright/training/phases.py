"""Phases: what a training run is made of. The loop runs them and knows no model by name.

A model keeps its learnable `Parts` by name: a `RowTable` where a batch touches few rows, a torch tensor where
it touches all. Each phase names the parts that it trains, with a learning rate for each; all others are
frozen while it runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import torch

from tailwright.encoders.row_table import RowTable
from tailwright.training.batches import epoch_order
from tailwright.training.schedules import Schedule

Parts: TypeAlias = Mapping[str, RowTable | torch.Tensor]
Arrays: TypeAlias = dict[str, np.ndarray]


@dataclass(frozen=True)
class Plan:
    """How a phase is run.

    | setting | meaning |
    |---|---|
    | `epochs`, `batch` | passes over the rows, rows a step |
    | `rates` | learning rate of each part that is trained |
    | `schedule` | factor on all rates, by step |
    | `weight_decay` | of the dense parts (AdamW); tables have none |
    | `clip` | largest norm of the gradient over all parts together; None: as it is |
    | `patience` | epochs without a better validation before it stops; the best weights are kept |
    """

    epochs: int
    batch: int
    rates: Mapping[str, float]
    schedule: Schedule = field(default_factory=Schedule)
    weight_decay: float = 0.0
    clip: float | None = None
    patience: int = 2

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        for part, rate in self.rates.items():
            if not rate > 0:
                raise ValueError(f"the learning rate of {part} must be > 0, got {rate}")
        if self.weight_decay < 0:
            raise ValueError(f"weight_decay must be >= 0, got {self.weight_decay}")
        if self.clip is not None and not self.clip > 0:
            raise ValueError(f"clip must be > 0 or None, got {self.clip}")


class Phase(ABC):
    """One stage of training: its data, its loss, and a plan."""

    def __init__(self, name: str, rows: int, plan: Plan) -> None:
        self.name, self.rows, self.plan = name, rows, plan

    @property
    def batches(self) -> int:
        """Steps of one epoch."""
        return -(-self.rows // self.plan.batch)

    def prepare(self, epoch: int, seed: int) -> Arrays:
        """What stays the same for an epoch; `order` holds its rows.

        It may be computed from the weights as they are when the epoch starts, so checkpoints keep it.
        """
        return {"order": epoch_order(self.rows, seed, self.name, epoch)}

    @abstractmethod
    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        """The mean loss of a batch of rows; `epoch` is what `prepare` gave."""

    def validate(self) -> float | None:
        """How good the weights are, more is better; None where there is nothing to validate on."""
        return None

    def watched(self) -> Mapping[str, float]:
        """What is watched of the weights as they are, by name, for the log alone; empty for nothing."""
        return {}
