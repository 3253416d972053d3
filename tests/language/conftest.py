"""Tiny language models with random weights, saved as transformers saves them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_t5 import save_tiny_t5

SENTENCES = (
    "the quick brown fox jumps over the lazy dog",
    "a buffer overflow in the parser of the server allows remote attackers to run code",
    "history of the town and of its churches",
    "Ein kurzer Satz, mit Komma; und café naïve 日本 🙂",
    "one two three four five six seven eight nine ten",
)


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / "cache"))


def save_tiny(folder: Path, kind: str) -> Path:
    """A model of 2 layers and width 32 over a vocabulary of some hundred pieces."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import (
        GPT2Config,
        GPT2LMHeadModel,
        LlamaConfig,
        LlamaForCausalLM,
        PreTrainedTokenizerFast,
    )

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator([text.lower() for text in SENTENCES] * 3, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|endoftext|>")
    ends = {"bos_token_id": 0, "eos_token_id": 0, "vocab_size": len(tokenizer)}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = (
            GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=32, n_head=2, n_positions=128, **ends))
            if kind == "gpt2"
            else LlamaForCausalLM(
                LlamaConfig(
                    num_hidden_layers=2,
                    hidden_size=32,
                    intermediate_size=64,
                    num_attention_heads=4,
                    num_key_value_heads=2,
                    max_position_embeddings=128,
                    tie_word_embeddings=True,
                    **ends,
                )
            )
        )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a GPT-2 of 128 positions, with dropout as GPT-2 has it."""
    return save_tiny(tmp_path_factory.mktemp("models") / "tiny-gpt2", "gpt2")


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a Llama of 128 positions, whose output layer is its embedding, as in SmolLM2."""
    return save_tiny(tmp_path_factory.mktemp("models") / "tiny-llama", "llama")


@pytest.fixture(scope="session", params=["t5", "t5-1.1"])
def tiny_t5(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a T5, and one with a T5 of version 1.1."""
    return save_tiny_t5(tmp_path_factory.mktemp("models") / request.param, gated=request.param != "t5")
