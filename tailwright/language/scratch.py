"""`scratch`: a small generator with a vocabulary of its own, where nothing pretrained is at hand."""

from __future__ import annotations

from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from tailwright.language.causal import END, with_layout
from tailwright.language.generator import Generator
from tailwright.language.pairs import TextPairs
from tailwright.pretrained.quiet import quiet_libraries
from tailwright.streams import stream

POSITIONS = 1024  # as many as GPT-2 has: 200 words and 200 words fit
HEAD_WIDTH = 64


def scratch_generator(
    pairs: TextPairs,
    *,
    width: int,
    layers: int,
    vocabulary: int,
    separator: str | None,
    lower_case: bool,
    seed: int,
) -> Generator:
    """A GPT-2 of `layers` blocks with random weights, over byte pairs learnt from the texts of the pairs."""
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    texts = [*pairs.sources.to_pylist(), *pairs.targets.to_pylist()]
    raw = _byte_pairs([text.lower() for text in texts] if lower_case else texts, vocabulary)
    with quiet_libraries():
        options = {"tokenizer_object": raw, "eos_token": END, "model_max_length": POSITIONS}
        tokenizer: Any = PreTrainedTokenizerFast(**options)  # type: ignore[no-untyped-call]
        end = int(tokenizer.eos_token_id)
        config = GPT2Config(
            vocab_size=len(tokenizer),
            n_positions=POSITIONS,
            n_embd=width,
            n_layer=layers,
            n_head=max(width // HEAD_WIDTH, 1),
            bos_token_id=end,
            eos_token_id=end,
        )
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(int(stream(seed, "generator/scratch").integers(1 << 62)))
            model = GPT2LMHeadModel(config)  # type: ignore[no-untyped-call]
        return with_layout(model, tokenizer, separator=separator, lower_case=lower_case)


def _byte_pairs(texts: list[str], vocabulary: int) -> Tokenizer:
    """A byte-level BPE tokenizer: no text is unknown to it."""
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    raw.train_from_iterator(texts, trainer)
    return raw
