"""Causal language models as generators: pretrained ones from a folder, and `scratch`, a small new one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import (
    AddedToken,
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

from tailwright.language.byte_pairs import byte_pairs
from tailwright.language.generator import Generator, loaded
from tailwright.language.pairs import TextPairs
from tailwright.language.settings import TuningSettings
from tailwright.pretrained.quiet import quiet_libraries
from tailwright.streams import stream

SEPARATOR = "<|separator|>"
END = "<|end|>"
UNLIMITED = 1 << 20  # positions of a model whose configuration names no limit
SCRATCH_POSITIONS = 1024  # as many as GPT-2 has: 200 words and 200 words fit
SCRATCH_HEAD_WIDTH = 64


def load_causal(folder: Path, *, separator: str | None, lower_case: bool) -> Generator:
    """The model in the folder, in float32 on the CPU, not tuned yet; `separator` as in `with_layout`."""
    model, tokenizer = loaded(folder, AutoModelForCausalLM, AutoTokenizer, "a causal language model")
    with quiet_libraries():
        return with_layout(model, tokenizer, separator, lower_case)


def scratch_generator(pairs: TextPairs, settings: TuningSettings, seed: int) -> Generator:
    """A small GPT-2 with random weights, over byte pairs learnt from the texts of the pairs."""
    texts = [*pairs.sources.to_pylist(), *pairs.targets.to_pylist()]
    if settings.lower_case:
        texts = [text.lower() for text in texts]
    width = settings.scratch_width
    with quiet_libraries():
        tokenizer: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
            tokenizer_object=byte_pairs(texts, settings.scratch_vocabulary, [END]),
            eos_token=END,
            model_max_length=SCRATCH_POSITIONS,
        )
        end = int(tokenizer.eos_token_id)
        config = GPT2Config(
            vocab_size=len(tokenizer),
            n_positions=SCRATCH_POSITIONS,
            n_embd=width,
            n_layer=settings.scratch_layers,
            n_head=max(width // SCRATCH_HEAD_WIDTH, 1),
            bos_token_id=end,
            eos_token_id=end,
        )
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(int(stream(seed, "generator/scratch").integers(1 << 62)))
            model = GPT2LMHeadModel(config)  # type: ignore[no-untyped-call]
        return with_layout(model, tokenizer, settings.separator, settings.lower_case)


def with_layout(model: Any, tokenizer: Any, separator: str | None, lower_case: bool) -> Generator:
    """The generator of a causal model: it gets an end and, unless text separates the sides, a new token.

    New tokens start as the mean of all others, where the model sees no difference yet.
    """
    before = len(tokenizer)
    if tokenizer.eos_token_id is None:
        tokenizer.add_special_tokens({"eos_token": END})
    if separator is None:
        new_token = AddedToken(SEPARATOR, special=True, normalized=False)
        tokenizer.add_tokens([new_token], special_tokens=True)
        between = (int(tokenizer.convert_tokens_to_ids(SEPARATOR)),)
    else:
        between = tuple(tokenizer.encode(separator, add_special_tokens=False))
    _make_room(model, before, len(tokenizer))
    model.eval()
    return Generator(
        model, tokenizer, between, int(tokenizer.eos_token_id), positions_of(model.config), lower_case
    )


def positions_of(config: Any) -> int:
    """The longest sequence that a model of this configuration takes."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    for name in ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"):
        positions = getattr(text, name, None)
        if isinstance(positions, int) and positions > 0:
            return positions
    return UNLIMITED


@torch.no_grad()
def _make_room(model: Any, before: int, after: int) -> None:
    """Rows for the tokens `before`..`after` in the embedding and, if that is another, the output layer."""
    if before == after:
        return
    had = model.get_input_embeddings().weight.shape[0]
    if after > had:
        with torch.random.fork_rng(devices=()):  # it draws the rows that are set below
            model.resize_token_embeddings(after, mean_resizing=False)
    tables = [model.get_input_embeddings(), model.get_output_embeddings()]
    # Tied layers share their weight: the second would take the mean of rows that are already set.
    for table in {id(layer.weight): layer for layer in tables if layer is not None}.values():
        table.weight[before:after] = table.weight[: min(before, had)].mean(dim=0)
        if getattr(table, "bias", None) is not None:
            table.bias[before:after] = table.bias[: min(before, had)].mean()
