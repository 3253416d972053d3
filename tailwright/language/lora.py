"""Low-rank adaptation: small matrices beside the frozen ones of a model are tuned, then added to them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import torch

from tailwright.errors import MissingExtraError
from tailwright.language.generator import Generator
from tailwright.pretrained.quiet import quiet_libraries
from tailwright.streams import stream

if TYPE_CHECKING:
    from peft import PeftModel


def with_lora(
    generator: Generator, *, rank: int, alpha: int, dropout: float, new_token: int | None, seed: int
) -> PeftModel:
    """The generator's model with adapters beside all its linear layers, which alone learn.

    `new_token` is one that no pretraining has seen: its embedding learns as well.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        raise MissingExtraError("LoRA", "lm") from None
    from transformers.pytorch_utils import Conv1D

    model = generator.model
    embedding = model.get_input_embeddings()
    name = next(name for name, module in model.named_modules() if module is embedding)
    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=rank,
        lora_alpha=alpha,
        lora_dropout=dropout,
        target_modules="all-linear",
        # GPT-2 keeps its matrices the other way round.
        fan_in_fan_out=any(isinstance(module, Conv1D) for module in model.modules()),
        trainable_token_indices=None if new_token is None else {name.rpartition(".")[2]: [new_token]},
    )
    with quiet_libraries(), torch.random.fork_rng(devices=()):
        torch.manual_seed(int(stream(seed, "generator/lora").integers(1 << 62)))
        return get_peft_model(model, config)


def merged(generator: Generator, adapted: PeftModel) -> Generator:
    """The generator with what the adapters learnt added to its weights: as quick as one without them."""
    with quiet_libraries():
        return dataclasses.replace(generator, model=adapted.merge_and_unload())
