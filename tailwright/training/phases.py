"""Phases: what a training run is made of. The loop runs them and knows no model by name.

Each phase names the modules and parameters of the network that it trains, with a learning rate for each; all
others are frozen while it runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from tailwright.settings import Settings, setting
from tailwright.training.batches import epoch_order
from tailwright.training.clipping import AdaptiveClip
from tailwright.training.named_arrays import Arrays
from tailwright.training.precision import Precision
from tailwright.training.schedules import Schedule
from tailwright.training.settings import TrainingSettings
from tailwright.training.sparse_adam import EPSILON
from tailwright.training.swa import Averaging
from tailwright.training.weight_decay import WeightDecay

if TYPE_CHECKING:
    import torch

    from tailwright.training.array_network import ArrayLoss


@dataclass(frozen=True)
class Plan(Settings):
    """How a phase is run.

    A batch whose loss is computed in pieces, or by several processes, has the gradient that it has as a whole
    if the loss is a mean of what each row gives by itself. Where rows meet, as in a block of labels that a
    batch shares, each piece has a block of its own.
    """

    epochs: int = setting(1, "passes over the rows", least=1, most=1_000_000)
    batch: int = setting(1, "rows a step", least=1)
    rates: Mapping[str, float | None] = field(default_factory=dict)  # by module or parameter; None: frozen
    schedule: Schedule = setting(Schedule(), "factor on all rates, by step")
    weight_decay: float | WeightDecay = setting(
        0.0, "of dense parameters (AdamW); tables have none", least=0, most=1000
    )
    clip: float | AdaptiveClip | None = setting(None, "largest norm of the gradient, or a rule", above=0)
    patience: int = setting(2, "validations without a better one before it stops", least=1)
    validate_every: int | None = setting(None, "steps between validations; None: after each epoch", least=1)
    micro_batch: int | None = setting(None, "rows whose loss is computed at a time; None: all", least=1)
    averaging: Averaging | None = setting(None, "when snapshots of the weights are averaged")
    epsilon: float = setting(EPSILON, "what Adam adds to the root of the second moment", least=1e-30)
    optimiser: Literal["adamw", "adafactor"] = setting("adamw", "of dense parameters")
    precision: Precision = setting("full", "mixed: products in half precision, on CUDA alone")

    @staticmethod
    def of(chosen: TrainingSettings, rates: Mapping[str, float | None]) -> Plan:
        """What a user's settings ask for, with these learning rates."""
        averaging = None
        if chosen.average_from is not None:
            averaging = Averaging(chosen.average_from, chosen.average_every, chosen.average_counted)
        return Plan(
            chosen.epochs,
            chosen.batch,
            rates,
            Schedule(chosen.schedule, chosen.warmup),
            weight_decay=WeightDecay(chosen.weight_decay),
            clip=AdaptiveClip() if chosen.clip == "adaptive" else chosen.clip,
            patience=chosen.patience,
            validate_every=chosen.validate_every,
            micro_batch=chosen.micro_batch,
            averaging=averaging,
            epsilon=chosen.epsilon,
            precision=chosen.precision,
        )

    def between(self, begin: int, end: int) -> Plan:
        """The plan of these epochs alone."""
        averaging = self.averaging
        if averaging is not None:
            later = averaging.start >= end < self.epochs
            averaging = None if later else replace(averaging, start=max(averaging.start - begin, 0))
        return replace(self, epochs=end - begin, averaging=averaging)

    def check(self) -> None:
        for name, rate in self.rates.items():
            if rate is not None and not rate > 0:
                raise ValueError(f"the learning rate of {name} must be > 0, got {rate}")


class Phase(ABC):
    """One stage of training: its data, its loss, and a plan."""

    def __init__(
        self,
        name: str,
        rows: int,
        plan: Plan,
        *,
        validate: Callable[[], float] | None = None,
        watch: Callable[[], Mapping[str, float]] = dict,
        key: Callable[[], str] | None = None,
        begin: Callable[[], None] | None = None,
    ) -> None:
        """`key` digests all that the phase's weights depend on; trainings that share work run it once.

        `begin` sets weights before the first epoch, from those that earlier phases ended with.
        """
        self.name, self.rows, self.plan, self.key = name, rows, plan, key
        self._validate, self._watch, self._begin = validate, watch, begin

    @property
    def batches(self) -> int:
        """Steps of one epoch."""
        return -(-self.rows // self.plan.batch)

    def prepare(self, epoch: int, seed: int) -> Arrays:
        """What stays the same for an epoch; `order` holds its rows.

        It may be computed from the weights as they are when the epoch starts, so checkpoints keep it.
        """
        if epoch == 0 and self._begin is not None:
            self._begin()
        return {"order": epoch_order(self.rows, seed, self.name, epoch)}

    @abstractmethod
    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor | ArrayLoss:
        """The mean loss of a batch of rows, or of a part of one; `epoch` is what `prepare` gave.

        Of a torch module it is a tensor. A phase may call `backward` itself, chunk by chunk, and give a loss
        without a gradient; then it cuts batches as it likes, and its plan has neither a `micro_batch` nor
        mixed precision. Of a network of arrays it comes with its gradients.
        """

    def stand_by(self) -> None:
        """Take part in a loss of others' rows, where parameters are sharded and this process has no rows."""
        raise NotImplementedError(f"{type(self).__name__} has no sharded parameters")

    def mass(self, rows: np.ndarray) -> float:
        """What rows count in the mean: their number; where the loss is one of tokens, the number of those."""
        return float(len(rows))

    def validate(self) -> float | None:
        """How good the weights are, more is better; None where there is nothing to validate on."""
        return None if self._validate is None else self._validate()

    def watched(self) -> Mapping[str, float]:
        """What is watched of the weights as they are, by name, for the log alone; empty for nothing."""
        return self._watch()
