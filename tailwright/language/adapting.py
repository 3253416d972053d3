"""A generator before it is tuned, which of its weights learn, and the generator that they make in the end.

All weights learn, or with LoRA (low-rank adaptation) small matrices beside the frozen ones, which are added
to these in the end.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from peft import PeftModel

SCRATCH = "scratch"


def untuned(name: str, pairs: TextPairs, settings: TuningSettings, seed: int) -> Generator:
    """The model called `name`: `scratch`, or a name that `weights_folder` takes."""
    if name == SCRATCH and settings.mode == "lora":
        raise InputError("tuning.mode=lora with random weights", expected="full for the generator scratch")
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
    """A generator, and the model with its weights that is trained: its own, or one with LoRA's matrices."""

    generator: Generator
    model: Any

    @property
    def learning(self) -> dict[str, torch.Tensor]:
        """The parameters that learn, by name; tied ones are there once."""
        return {name: weight for name, weight in self.model.named_parameters() if weight.requires_grad}

    def tuned(self) -> Generator:
        """The generator with what was learnt, ready to be asked; it learns no more."""
        generator = self.generator
        if self.model is not generator.model:
            generator = merged(generator, self.model)
        generator.model.requires_grad_(False)
        generator.model.train(False)
        return generator


def adapted(base: Generator, settings: TuningSettings, seed: int) -> Adapted:
    """The generator's model on its device, in which all weights learn, or only LoRA's."""
    model: Any = base.model
    if settings.mode == "lora":
        model = with_lora(
            base,
            rank=settings.lora_rank,
            alpha=settings.lora_alpha,
            dropout=settings.lora_dropout,
            new_token=base.separator[0] if settings.separator is None else None,
            seed=seed,
        )
    model.to(device_of(settings.device))
    return Adapted(base, model)


def with_lora(
    generator: Generator, *, rank: int, alpha: int, dropout: float, new_token: int | None, seed: int
) -> PeftModel:
    """The generator's model with small matrices beside all its linear layers; only these learn.

    `new_token` is one that no pretraining has seen: its embedding learns as well.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        raise MissingExtraError("LoRA", "lm") from None

    model = generator.model
    embedding = model.get_input_embeddings()
    name = next(name for name, module in model.named_modules() if module is embedding)
    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=rank,
        lora_alpha=alpha,
        lora_dropout=dropout,
        target_modules="all-linear",
        # GPT-2 keeps its matrices transposed.
        fan_in_fan_out=any(isinstance(module, Conv1D) for module in model.modules()),
        trainable_token_indices=None if new_token is None else {name.rpartition(".")[2]: [new_token]},
    )
    with quiet_libraries(), torch.random.fork_rng(devices=()):
        torch.manual_seed(int(stream(seed, "generator/lora").integers(1 << 62)))
        return get_peft_model(model, config)


def merged(generator: Generator, adapted: PeftModel) -> Generator:
    """The generator with LoRA's matrices added to its weights: as quick as one without them."""
    with quiet_libraries():
        return dataclasses.replace(generator, model=adapted.merge_and_unload())
