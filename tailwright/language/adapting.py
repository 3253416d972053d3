"""A model before it is tuned, and which of its weights will learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tailwright.errors import InputError
from tailwright.language.causal import load_causal
from tailwright.language.generator import Generator
from tailwright.language.lora import merged, with_lora
from tailwright.language.pairs import TextPairs
from tailwright.language.scratch import scratch_generator
from tailwright.language.tuning_settings import TuningSettings
from tailwright.pretrained import weights_folder
from tailwright.training.devices import device_of

SCRATCH = "scratch"


def untuned(name: str, pairs: TextPairs, settings: TuningSettings, seed: int) -> Generator:
    """The model called `name`: `scratch`, or what `weights_folder` takes."""
    if name == SCRATCH and settings.tuning == "lora":
        raise InputError("tuning=lora with random weights", expected="tuning=full for the generator scratch")
    layout: dict[str, Any] = {"separator": settings.separator, "lower_case": settings.lower_case}
    if name != SCRATCH:
        return load_causal(weights_folder(name), **layout)
    return scratch_generator(
        pairs,
        width=settings.scratch_width,
        layers=settings.scratch_layers,
        vocabulary=settings.scratch_vocabulary,
        seed=seed,
        **layout,
    )


@dataclass(frozen=True)
class Adapted:
    """A model on its device, and those of its weights that learn; tied weights are one."""

    generator: Generator
    model: Any
    parts: Mapping[str, torch.Tensor]

    def tuned(self) -> Generator:
        """The generator with what was learnt, to be asked and not to learn any more."""
        made = self.generator if self.model is self.generator.model else merged(self.generator, self.model)
        made.model.requires_grad_(False)
        made.model.train(False)
        return made


def adapted(base: Generator, settings: TuningSettings, seed: int) -> Adapted:
    """The generator's model, all of it to be tuned, or with adapters that alone are."""
    model: Any = base.model
    if settings.tuning == "lora":
        model = with_lora(
            base,
            rank=settings.lora_rank,
            alpha=settings.lora_alpha,
            dropout=settings.lora_dropout,
            new_token=base.separator[0] if settings.separator is None else None,
            seed=seed,
        )
    model.to(device_of(settings.device))
    parts = {name: part for name, part in model.named_parameters() if part.requires_grad}
    return Adapted(base, model, parts)
