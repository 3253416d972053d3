"""`LearningSettings`: what can be set of the training of every model that learns by gradients from tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tailwright.models.shared.validation import Metric
from tailwright.training.schedules import Schedule

if TYPE_CHECKING:
    from tailwright.training.phases import Plan


@dataclass(frozen=True)
class LearningSettings:
    """Settings of the training; a model's own come on top and may have other defaults.

    | setting | meaning |
    |---|---|
    | `epochs`, `batch` | passes over the training rows, rows a step |
    | `micro_batch` | rows of a batch that are worked on at a time, for less memory; none: all |
    | `schedule`, `warmup` | shape of the learning rate over the steps, and the share that warms up |
    | `weight_decay` | of all but biases, norms and tables of words |
    | `epsilon` | what Adam adds to the root of the second moment |
    | `clip` | largest norm of a gradient, `adaptive` for AttentionXML's rule; none: as it is |
    | `average_from` | the epoch, from 0, from which weights are averaged; none: they are not |
    | `average_every` | steps between two weights that are averaged |
    | `average_counted` | steps counted through the `phase`, or from 0 in each `epoch` as LightXML does |
    | `metric`, `patience` | where there are validation rows: stop after so many that are not better |
    | `validate_every` | steps between validations; none: one after each epoch |
    | `precision` | `mixed`: half precision on a GPU; nothing else on a CPU |
    """

    epochs: int = 10
    batch: int = 32
    micro_batch: int | None = None
    schedule: Literal["constant", "linear", "cosine", "step"] = "constant"
    warmup: float = 0.0
    weight_decay: float = 0.0
    epsilon: float = 1e-8
    clip: Literal["adaptive"] | float | None = None
    average_from: int | None = None
    average_every: int = 100
    average_counted: Literal["phase", "epoch"] = "phase"
    metric: Metric = "nDCG@5"
    patience: int = 5
    validate_every: int | None = None
    precision: Literal["full", "mixed"] = "full"

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "patience", "average_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        for name in ("micro_batch", "validate_every"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1 or none, got {getattr(self, name)}")
        if self.weight_decay < 0:
            raise ValueError(f"weight_decay must be >= 0, got {self.weight_decay}")
        if not self.epsilon > 0:
            raise ValueError(f"epsilon must be > 0, got {self.epsilon}")
        if isinstance(self.clip, float | int) and not self.clip > 0:
            raise ValueError(f"clip must be > 0, adaptive or none, got {self.clip}")
        if self.average_from is not None and self.average_from < 0:
            raise ValueError(f"average_from must be >= 0 or none, got {self.average_from}")
        Schedule(self.schedule, self.warmup)

    def plan(self, rates: Mapping[str, float]) -> Plan:
        """How the training loop is to run, with these learning rates of the parts."""
        from tailwright.training.clipping import AdaptiveClip
        from tailwright.training.phases import Plan
        from tailwright.training.swa import Averaging
        from tailwright.training.weight_groups import WeightDecay

        averaging = None
        if self.average_from is not None:
            averaging = Averaging(self.average_from, self.average_every, self.average_counted)
        return Plan(
            self.epochs,
            self.batch,
            rates,
            Schedule(self.schedule, self.warmup),
            weight_decay=WeightDecay(self.weight_decay),
            clip=AdaptiveClip() if self.clip == "adaptive" else self.clip,
            patience=self.patience,
            validate_every=self.validate_every,
            micro_batch=self.micro_batch,
            averaging=averaging,
            epsilon=self.epsilon,
            precision=self.precision,
        )
