"""`TrainingSettings`: what can be set of the training of every network that reads tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailwright.settings import Settings, setting

Metric = Literal["P@1", "P@5", "nDCG@5", "PSP@1", "PSP@5"]


@dataclass(frozen=True)
class TrainingSettings(Settings):
    """How a network is trained; models have defaults of their own."""

    epochs: int = setting(10, "passes over the training rows", least=1, most=1_000_000)
    batch: int = setting(32, "rows a step", least=1)
    micro_batch: int | None = setting(
        None, "rows of a batch that are computed at a time, for less memory; none: all", least=1
    )
    schedule: Literal["constant", "linear", "cosine", "step", "one-cycle"] = setting(
        "constant", "shape of the learning rate over the steps"
    )
    warmup: float = setting(0.0, "share of the steps over which the rate rises first", least=0, below=1)
    weight_decay: float = setting(0.0, "of all but biases, norms and tables of words", least=0, most=1000)
    epsilon: float = setting(1e-8, "what Adam adds to the root of the second moment", least=1e-30)
    clip: Literal["adaptive"] | float | None = setting(
        None, "largest norm of a gradient; adaptive: AttentionXML's rule; none: no clipping", above=0
    )
    restart: int | None = setting(
        None,
        "the epoch at which training begins anew at the best weights so far; a study shares what came before",
        least=1,
    )
    average_from: int | None = setting(
        None, "the epoch, from 0, from which weights are averaged; none: they are not", least=0
    )
    average_every: int = setting(100, "steps between two snapshots that are averaged", least=1)
    average_counted: Literal["phase", "epoch"] = setting(
        "phase", "whether these steps are counted through the phase, or from 0 in each epoch as in LightXML"
    )
    metric: Metric = setting("nDCG@5", "metric on the validation rows, where there are some")
    patience: int = setting(5, "validations without a better one before training stops", least=1)
    validate_every: int | None = setting(
        None, "steps between validations; none: one after each epoch", least=1
    )
    precision: Literal["full", "mixed"] = setting(
        "full", "mixed: half precision on a GPU; a CPU always computes in full precision"
    )
