"""Tiny T5s with random weights, saved as transformers saves them; and a prompt tuning to kill.

    python tiny_t5.py FOLDER

tunes a prompt on the T5 in the folder, with a checkpoint after every step, and prints its digest.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

SENTENCES = (
    "the quick brown fox jumps over the lazy dog, and the dog sleeps on",
    "a buffer overflow in the parser of the server allows remote attackers to run code",
    "history of the town and of its churches, with a map",
    "one two three four five six seven eight nine ten eleven twelve",
    "Ein kurzer Satz, mit Komma; und café naïve 日本 ist hier 🙂 zu Ende",
)


def save_tiny_t5(folder: Path, *, layers: int = 3, gated: bool = False) -> Path:
    """A T5 of width 32; gated: of version 1.1, whose output layer has weights of its own."""
    import torch
    from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

    from tailwright.language.byte_pairs import byte_pairs
    from tailwright.language.t5 import END, PAD, SENTINELS

    raw = byte_pairs([*SENTENCES] * 3, 500, [PAD, END, *SENTINELS], words_begin_with_space=True)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token=END, pad_token=PAD)
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=layers,
        num_decoder_layers=2,
        num_heads=4,
        feed_forward_proj="gated-gelu" if gated else "relu",
        tie_word_embeddings=not gated,
        decoder_start_token_id=0,
    )
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        model = T5ForConditionalGeneration(config)
        if gated:
            model.lm_head.weight = torch.nn.Parameter(torch.randn(len(tokenizer), 32))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def passages(count: int = 20):
    from tailwright.language.passages import Passages

    texts = [SENTENCES[place % len(SENTENCES)] for place in range(count)]
    lines = ["dog and town :" if place % 2 else "" for place in range(count)]
    return Passages(pa.array(texts, pa.large_string()), pa.array(lines, pa.large_string()), np.arange(count))


def tuned(folder: Path | str, **changes):
    """A prompt that has learnt a little, and the T5 that it belongs to."""
    from tailwright.language.prompt_tuning import PromptTuning
    from tailwright.language.settings import CorruptionSettings, PromptSettings
    from tailwright.language.t5 import load_t5

    infiller = load_t5(Path(folder))
    settings = CorruptionSettings(checkpoint_seconds=0)
    tuning = PromptTuning(infiller, passages(), settings, share=0.3, seed=5, key="tiny")
    return tuning.prompt(PromptSettings(**{"epochs": 3, "start_texts": 5, **changes})), infiller


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


if __name__ == "__main__":
    print(digest(tuned(sys.argv[1])[0].prompt.numpy()), flush=True)
