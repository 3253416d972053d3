"""A generator before it is tuned, and which weights learn: all, or LoRA's small matrices beside them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import torch
from transformers.pytorch_utils import Conv1D

from tailwright.errors import InputError, MissingExtraError
from tailwright.language.causal import load_causal, scratch_generator
from tailwright.language.generator import Generator
from tailwright.language.pairs import TextPairs
from tailwright.language.settings import TuningSettings
from tailwright.pretrained import weights_folder
from tailwright.pretrained.quiet import quiet_libraries
from tailwright.streams import stream
from tailwright.training.devices import device_of

SCRATCH = "scratch"


def untuned(name: str, pairs: TextPairs, settings: TuningSettings, seed: int) -> Generator:
    """The model called `name`: `scratch`, or a name that `weights_folder` takes."""
    if name == SCRATCH and settings.mode == "lora":
        raise InputError("tuning.mode=lora with random weights", expected="full for the generator scratch")
    if name == SCRATCH:
        return scratch_generator(pairs, settings, seed)
    return load_causal(weights_folder(name), separator=settings.separator, lower_case=settings.lower_case)


@dataclass(frozen=True)
class Adapted:
    """A generator, and the model with its weights that is trained: its own, or one with LoRA's matrices."""

    generator: Generator
    model: Any

    @property
    def learning(self) -> dict[str, torch.Tensor]:
        """The parameters that learn, by name; tied ones are there once."""
        return {name: weight for name, weight in self.model.named_parameters() if weight.requires_grad}

    def tuned(self) -> Generator:
        """The generator with what was learnt, LoRA's matrices added to its weights; it learns no more."""
        generator = self.generator
        if self.model is not generator.model:
            with quiet_libraries():
                generator = dataclasses.replace(generator, model=self.model.merge_and_unload())
        generator.model.requires_grad_(False)
        generator.model.train(False)
        return generator


def adapted(base: Generator, settings: TuningSettings, seed: int) -> Adapted:
    """The generator's model on its device, in which all weights learn, or only LoRA's."""
    model: Any = with_lora(base, settings, seed) if settings.mode == "lora" else base.model
    model.to(device_of(settings.device))
    return Adapted(base, model)


def with_lora(generator: Generator, settings: TuningSettings, seed: int) -> Any:
    """The generator's model with small matrices beside all its linear layers; only these learn.

    So does the embedding of a new token between the sides, which no pretraining has seen.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        raise MissingExtraError("LoRA", "lm") from None

    model, new_token = generator.model, settings.separator is None
    embedding = model.get_input_embeddings()
    name = next(name for name, module in model.named_modules() if module is embedding)
    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=settings.lora_rank,
        lora_alpha=settings.lora_alpha,
        lora_dropout=settings.lora_dropout,
        target_modules="all-linear",
        # GPT-2 keeps its matrices transposed.
        fan_in_fan_out=any(isinstance(module, Conv1D) for module in model.modules()),
        trainable_token_indices={name.rpartition(".")[2]: [generator.separator[0]]} if new_token else None,
    )
    with quiet_libraries(), torch.random.fork_rng(devices=()):
        torch.manual_seed(int(stream(seed, "generator/lora").integers(1 << 62)))
        return get_peft_model(model, config)
