"""Tiny encoders with random weights, saved as transformers saves them; and a tiny file of features to kill.

    python tiny_encoders.py ENCODER FOLDER

computes the features of `TEXTS` in many blocks, says so after each, and prints the digest of all.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np

TEXTS = [
    "red hat",
    "",
    "blue hats and red shoes for the quick brown fox",
    "shoes",
    "a hat, a shoe; a red hat " * 3,
    "quick shoes of a lazy fox",
]
SPECIAL = {"bert": ("[PAD]", "[UNK]", "[CLS]", "[SEP]"), "roberta": ("<s>", "<pad>", "</s>", "<unk>")}


def save_tiny(folder: Path, kind: str, layers: int = 4, dropout: float = 0.1) -> Path:
    """A BERT or RoBERTa of width 16 with 40 positions for tokens."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, RobertaConfig, RobertaModel

    special = SPECIAL[kind]
    unknown, padding = ("[UNK]", "[PAD]") if kind == "bert" else ("<unk>", "<pad>")
    first, last = ("[CLS]", "[SEP]") if kind == "bert" else ("<s>", "</s>")
    raw = Tokenizer(models.WordPiece(unk_token=unknown))
    raw.normalizer = normalizers.Lowercase()
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordPieceTrainer(vocab_size=90, special_tokens=list(special), show_progress=False)
    raw.train_from_iterator(TEXTS, trainer)
    raw.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", special_tokens=[(name, raw.token_to_id(name)) for name in (first, last)]
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, unk_token=unknown, pad_token=padding)
    shape = {
        "vocab_size": len(tokenizer),
        "hidden_size": 16,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 40 if kind == "bert" else 42,
        "pad_token_id": raw.token_to_id(padding),
        "hidden_dropout_prob": dropout,
        "attention_probs_dropout_prob": dropout,
    }
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        made = BertModel(BertConfig(**shape)) if kind == "bert" else RobertaModel(RobertaConfig(**shape))
        for part in made.parameters():  # as they come, hidden states hardly differ between texts
            torch.nn.init.normal_(part, std=0.3)
    made.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


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
