"""Causal language models from a folder, with the tokens that the layout of a generator needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from tailwright.errors import InputError, quoted
from tailwright.language.generator import Generator
from tailwright.pretrained.quiet import quiet_libraries

SEPARATOR = "<|separator|>"
END = "<|end|>"
UNLIMITED = 1 << 20  # positions of models that say nothing of a limit


def load_causal(folder: Path, *, separator: str | None, lower_case: bool) -> Generator:
    """The model in the folder, in float32 on the CPU, not tuned yet; `separator` as `with_layout` has it."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with quiet_libraries():
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                folder,
                trust_remote_code=False,
                use_safetensors=True,
                dtype=torch.float32,
                output_loading_info=True,
            )
        except Exception as error:  # transformers, tokenizers and safetensors raise a dozen kinds, some bare
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise InputError(
                f"cannot be loaded ({reason})", expected="a causal language model", path=folder
            ) from error
        model, loading = loaded
        for what in ("missing_keys", "mismatched_keys"):
            if loading[what]:
                first = quoted(sorted(map(str, loading[what]))[0])
                found = f"weights lack {len(loading[what])} tensors of the model, such as {first}"
                raise InputError(found, expected="a causal language model", path=folder)
        return with_layout(model, tokenizer, separator=separator, lower_case=lower_case)


def with_layout(model: Any, tokenizer: Any, *, separator: str | None, lower_case: bool) -> Generator:
    """The generator of a model: an end, and a separator, which is a token of its own unless text is given.

    New tokens start as the mean of all others, so that they begin where the model knows no difference.
    """
    before = len(tokenizer)
    if tokenizer.eos_token_id is None:
        tokenizer.add_special_tokens({"eos_token": END})
    if separator is None:
        _add_token(tokenizer, SEPARATOR)
        between = (int(tokenizer.convert_tokens_to_ids(SEPARATOR)),)
    else:
        between = tuple(tokenizer.encode(separator, add_special_tokens=False))
    _make_room(model, before, len(tokenizer))
    model.eval()
    return Generator(
        model, tokenizer, between, int(tokenizer.eos_token_id), positions_of(model.config), lower_case
    )


def positions_of(config: Any) -> int:
    """The longest sequence that a model with this configuration takes."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    for name in ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"):
        found = getattr(text, name, None)
        if isinstance(found, int) and found > 0:
            return found
    return UNLIMITED


def _add_token(tokenizer: Any, token: str) -> None:
    from transformers import AddedToken

    tokenizer.add_tokens([AddedToken(token, special=True, normalized=False)], special_tokens=True)


@torch.no_grad()
def _make_room(model: Any, before: int, after: int) -> None:
    """Rows for the tokens `before`..`after` in the embedding and, where it is another, the output layer."""
    if before == after:
        return
    had = model.get_input_embeddings().weight.shape[0]
    if after > had:
        with torch.random.fork_rng(devices=()):  # it draws the rows that are then set
            model.resize_token_embeddings(after, mean_resizing=False)
    tables = [model.get_input_embeddings(), model.get_output_embeddings()]
    # Tied layers share their weight: the second would take the mean of rows that are already set.
    for table in {id(layer.weight): layer for layer in tables if layer is not None}.values():
        table.weight[before:after] = table.weight[: min(before, had)].mean(dim=0)
        if getattr(table, "bias", None) is not None:
            table.bias[before:after] = table.bias[: min(before, had)].mean()
