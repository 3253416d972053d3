"""Phases: what a training run is made of. The loop runs them and knows no model by name.

Each phase names the modules and parameters of the network that it trains, with a learning rate for each; all
others are frozen while it runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

import numpy as np
import torch

from tailwright.training.batches import epoch_order
from tailwright.training.clipping import AdaptiveClip
from tailwright.training.precision import Precision
from tailwright.training.schedules import Schedule
from tailwright.training.sparse_adam import EPSILON
from tailwright.training.swa import Averaging
from tailwright.training.weight_groups import WeightDecay
from tailwright.training.weights import Arrays


@dataclass(frozen=True)
class Plan:
    """How a phase is run.

    | setting | meaning |
    |---|---|
    | `epochs`, `batch` | passes over the rows, rows a step |
    | `rates` | learning rate of each module or parameter that is trained, by name |
    | `schedule` | factor on all rates, by step |
    | `weight_decay` | of the dense parts (AdamW), all or those that a rule does not spare; tables have none |
    | `clip` | largest norm of the gradient over all parts together, or a rule for it; None: as it is |
    | `patience` | validations without a better one before it stops; the best weights are kept |
    | `validate_every` | steps from one validation to the next, and one at the end; None: after each epoch |
    | `micro_batch` | rows of a batch whose loss is computed at a time, for less memory; None: all |
    | `averaging` | from when on, and how often, weights are averaged; None: they are not |
    | `epsilon` | what Adam adds to the root of the second moment; some papers' AdamW has 1e-6 |
    | `precision` | "mixed": products in half precision, on CUDA alone |

    A batch whose loss is computed in parts, or by several processes, has the gradient that it has as a whole
    if the loss is a mean of what each row gives by itself. Where rows meet, as in a block of labels that a
    batch shares, each part has a block of its own.
    """

    epochs: int
    batch: int
    rates: Mapping[str, float]
    schedule: Schedule = field(default_factory=Schedule)
    weight_decay: float | WeightDecay = 0.0
    clip: float | AdaptiveClip | None = None
    patience: int = 2
    validate_every: int | None = None
    micro_batch: int | None = None
    averaging: Averaging | None = None
    epsilon: float = EPSILON
    precision: Precision = "full"

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        for part, rate in self.rates.items():
            if not rate > 0:
                raise ValueError(f"the learning rate of {part} must be > 0, got {rate}")
        if not isinstance(self.weight_decay, WeightDecay) and self.weight_decay < 0:
            raise ValueError(f"weight_decay must be >= 0, got {self.weight_decay}")
        if isinstance(self.clip, float | int) and not self.clip > 0:
            raise ValueError(f"clip must be > 0 or None, got {self.clip}")
        for name in ("validate_every", "micro_batch"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1 or None, got {getattr(self, name)}")
        if not self.epsilon > 0:
            raise ValueError(f"epsilon must be > 0, got {self.epsilon}")
        if self.precision not in get_args(Precision):
            raise ValueError(
                f"precision must be one of {', '.join(get_args(Precision))}, got {self.precision!r}"
            )


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
        """The mean loss of a batch of rows, or of a part of one; `epoch` is what `prepare` gave.

        A phase may call `backward` itself, chunk by chunk, and give a loss without a gradient; then it cuts
        batches as it likes, and its plan has neither a `micro_batch` nor mixed precision.
        """

    def mass(self, rows: np.ndarray) -> float:
        """What rows count in the mean: their number; where the loss is one of tokens, the number of those."""
        return float(len(rows))

    def validate(self) -> float | None:
        """How good the weights are, more is better; None where there is nothing to validate on."""
        return None

    def watched(self) -> Mapping[str, float]:
        """What is watched of the weights as they are, by name, for the log alone; empty for nothing."""
        return {}
