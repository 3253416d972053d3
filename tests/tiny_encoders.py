"""Tiny encoders with random weights, saved as transformers saves them; and a tiny file of features to kill.

    python tiny_encoders.py ENCODER FOLDER

computes the features of `TEXTS` in many blocks, says so after each, and prints the digest of all.
"""

from __future__ import annotations

import hashlib
import re
import string
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

TEXTS = [
    "red hat",
    "",
    "blue hats and red shoes for the quick brown fox",
    "shoes",
    "a hat, a shoe; a red hat " * 3,
    "quick shoes of a lazy fox",
]
# The settings with which `check_model` passes on `save_reader`'s encoder, in some seconds.
READING = {"epochs": 6, "batch": 16, "rate": 3e-3, "head_rate": 3e-2}
SPECIAL = {"bert": ("[PAD]", "[UNK]", "[CLS]", "[SEP]"), "roberta": ("<s>", "<pad>", "</s>", "<unk>")}


def save_tiny(folder: Path, kind: str, layers: int = 4, dropout: float = 0.1) -> Path:
    """A BERT or RoBERTa of width 16 with 40 positions for tokens."""
    import torch
    from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

    tokenizer = _tokenizer(kind, TEXTS, 90)
    shape = _shape(tokenizer, kind, 16, layers, dropout)
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        made = BertModel(BertConfig(**shape)) if kind == "bert" else RobertaModel(RobertaConfig(**shape))
        for part in made.parameters():  # as they come, hidden states hardly differ between texts
            torch.nn.init.normal_(part, std=0.3)
    made.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_reader(folder: Path, width: int = 32, layers: int = 1) -> Path:
    """A BERT that knows the words of `tailwright.checks.corpora`, each as one token, and can learn them."""
    from tailwright.checks.corpora import odd_corpus, tiny_corpus

    texts = []
    for corpus in (tiny_corpus(), odd_corpus()):
        texts += [*corpus.train.texts.to_pylist(), *corpus.labels.texts.to_pylist()]
    tokenizer = _tokenizer("bert", texts, 1000)
    return _save_bert(folder, tokenizer, _shape(tokenizer, "bert", width, layers, 0.1))


def save_encoder_of(folder: Path, texts: Sequence[str], *, width: int, layers: int, positions: int) -> Path:
    """A BERT with random weights over the frequent words of these texts, the same in any process."""
    counts = Counter(word for text in texts for word in re.findall(r"[a-z0-9]+", text.lower()))
    words = sorted(counts, key=lambda word: (-counts[word], word))[:2000]
    letters = [
        f"{start}{letter}" for start in ("", "##") for letter in string.ascii_lowercase + string.digits
    ]
    vocabulary = dict.fromkeys([*SPECIAL["bert"], *letters, *words])
    tokenizer = _tokenizer("bert", [], 0, {word: number for number, word in enumerate(vocabulary)})
    shape = _shape(tokenizer, "bert", width, layers, 0.1) | {"max_position_embeddings": positions}
    return _save_bert(folder, tokenizer, shape)


def _save_bert(folder: Path, tokenizer: Any, shape: dict[str, Any]) -> Path:
    import torch
    from transformers import BertConfig, BertModel

    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        network = BertModel(BertConfig(**shape))
        for parameter in network.parameters():
            if parameter.dim() > 1:  # wide enough apart that a frozen one tells words from words
                torch.nn.init.normal_(parameter, std=0.3)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _shape(tokenizer: Any, kind: str, width: int, layers: int, dropout: float) -> dict[str, Any]:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
        "intermediate_size": 2 * width,
        "max_position_embeddings": 40 if kind == "bert" else 42,
        "pad_token_id": tokenizer.pad_token_id,
        "hidden_dropout_prob": dropout,
        "attention_probs_dropout_prob": dropout,
    }


def _tokenizer(kind: str, texts: Sequence[str], size: int, vocabulary: dict[str, int] | None = None) -> Any:
    """Word pieces of the vocabulary, or learnt from the texts: then ids differ between processes."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = SPECIAL[kind]
    unknown, padding = ("[UNK]", "[PAD]") if kind == "bert" else ("<unk>", "<pad>")
    first, last = ("[CLS]", "[SEP]") if kind == "bert" else ("<s>", "</s>")
    raw = Tokenizer(models.WordPiece(vocabulary or {}, unk_token=unknown))
    raw.normalizer = normalizers.Lowercase()
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    if vocabulary is None:
        trainer = trainers.WordPieceTrainer(
            vocab_size=size, special_tokens=list(special), show_progress=False
        )
        raw.train_from_iterator(texts, trainer)
    raw.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", special_tokens=[(name, raw.token_to_id(name)) for name in (first, last)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=raw, unk_token=unknown, pad_token=padding)


def main(name: str, folder: str) -> None:
    from tailwright.encoders import frozen_features as module
    from tailwright.encoders.transformer import TransformerEncoder

    module.TOKENS_A_BLOCK = 20
    encoder = TransformerEncoder.pretrained(name, "tokens", max_tokens=30)
    write = module._File.write

    def said(*args: object) -> str:
        print("block", flush=True)
        return write(*args)

    module._File.write = said
    rows = encoder.tokenizer.rows(TEXTS * 30, encoder.max_tokens)
    found = module.frozen_features(encoder, rows, Path(folder))
    print(hashlib.sha256(np.ascontiguousarray(found.vectors).tobytes()).hexdigest(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
