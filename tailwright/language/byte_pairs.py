"""The vocabulary of a model that starts from nothing: byte pairs, to which no text is unknown."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers


def byte_pairs(
    texts: Sequence[str], vocabulary: int, special: Sequence[str], *, words_begin_with_space: bool = False
) -> Tokenizer:
    """A byte-level BPE tokenizer of so many tokens; the first are the special ones.

    If words begin with a space, so does the first word of a text: it is the same token anywhere.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=words_begin_with_space)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(special),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
