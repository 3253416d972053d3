"""`Infiller`: a T5 that fills the blanks of texts, pretrained from a folder or new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from tailwright.errors import InputError
from tailwright.language.byte_pairs import byte_pairs
from tailwright.language.generator import loaded, plain_tokens
from tailwright.language.sending import SentModel, received_model, sent_model
from tailwright.language.settings import ScratchT5Settings
from tailwright.pretrained.quiet import quiet_libraries
from tailwright.streams import stream

SENTINELS = tuple(f"<extra_id_{number}>" for number in range(100))
PAD, END = "<pad>", "</s>"
# Never written: a space without a word, and the dots of tables of contents.
FORBIDDEN = ("\u2581", "." * 8, "." * 16)
_HEAD_WIDTH = 64


@dataclass(frozen=True)
class Infiller:
    """A model of T5's kind and the tokens of what it reads and writes."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    sentinels: tuple[int, ...]  # one for each blank, in their order
    end: int
    pad: int
    start: int  # what the decoder reads first
    forbidden: tuple[int, ...]  # tokens that are never written

    def __reduce__(self) -> tuple[Any, ...]:
        layout = (self.tokenizer, self.sentinels, self.end, self.pad, self.start, self.forbidden)
        return _received, (sent_model(self.model), *layout)

    def sources(self, lines: Sequence[str], segments: Sequence[Sequence[str]]) -> list[list[int]]:
        """The tokens to read: a line of labels, the segments with sentinels between them, the end."""
        pieces = self._pieces([[line, *parts] for line, parts in zip(lines, segments, strict=True)])
        sources = []
        for line, first, *others in pieces:
            tokens = [*line, *first]
            for sentinel, piece in zip(self.sentinels, others, strict=False):
                tokens += [sentinel, *piece]
            sources.append([*tokens, self.end])
        return sources

    def targets(self, values: Sequence[Sequence[str]]) -> list[list[int]]:
        """The tokens to write: each sentinel before what stands in its blank, then the end."""
        targets = []
        for pieces in self._pieces(values):
            tokens: list[int] = []
            for sentinel, piece in zip(self.sentinels, pieces, strict=False):
                tokens += [sentinel, *piece]
            targets.append([*tokens, self.end])
        return targets

    def parsed(self, tokens: Sequence[int], blanks: int) -> list[str]:
        """What was written for each of so many blanks: whatever follows one sentinel after the other.

        Blanks that are left over stay empty; what comes before the first sentinel belongs to none.
        """
        boundaries = {*self.sentinels, self.end, self.pad}
        pieces: list[list[int]] = []
        for token in tokens:
            if token in boundaries:
                pieces.append([])
            elif pieces:
                pieces[-1].append(token)
        texts = [str(self.tokenizer.decode(one, skip_special_tokens=True)).strip() for one in pieces[:blanks]]
        return texts + [""] * (blanks - len(texts))

    def all_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Texts as tokens; the name of a sentinel within a text is plain text."""
        return plain_tokens(self.tokenizer, texts)

    def _pieces(self, texts: Sequence[Sequence[str]]) -> list[list[list[int]]]:
        """The tokens of each piece of each text; one call of the tokenizer for all."""
        tokens = iter(self.all_tokens([piece for pieces in texts for piece in pieces]))
        return [[next(tokens) for _ in pieces] for pieces in texts]


def _received(model: SentModel, *layout: Any) -> Infiller:
    return Infiller(received_model(model), *layout)


def load_t5(folder: Path) -> Infiller:
    """The model in the folder, in float32 on the CPU: half precision overflows in T5."""
    model, tokenizer = loaded(folder, AutoModelForSeq2SeqLM, AutoTokenizer, "a T5")
    return infiller_of(model, tokenizer, folder)


def scratch_t5(texts: Sequence[str], settings: ScratchT5Settings, seed: int) -> Infiller:
    """A small T5 with random weights, over byte pairs learnt from the texts."""
    width = settings.width
    special = [PAD, END, *SENTINELS]
    with quiet_libraries():
        tokenizer: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
            tokenizer_object=byte_pairs(texts, settings.vocabulary, special, words_begin_with_space=True),
            eos_token=END,
            pad_token=PAD,
            extra_special_tokens=list(SENTINELS),
        )
        config: Any = T5Config(
            vocab_size=len(tokenizer),
            d_model=width,
            d_kv=min(_HEAD_WIDTH, width),
            d_ff=4 * width,
            num_layers=settings.layers,
            num_heads=max(width // _HEAD_WIDTH, 1),
            dropout_rate=settings.dropout,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
        config.decoder_start_token_id = tokenizer.pad_token_id
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(int(stream(seed, "t5/scratch").integers(1 << 62)))
            model = T5ForConditionalGeneration(config)
    return infiller_of(model, tokenizer)


def infiller_of(model: Any, tokenizer: Any, folder: Path | None = None) -> Infiller:
    """The infiller of a model whose tokenizer has the sentinels; others are an InputError."""
    vocabulary = tokenizer.get_vocab()
    missing = [name for name in SENTINELS if name not in vocabulary]
    config = model.config
    if missing or not getattr(config, "is_encoder_decoder", False) or not hasattr(model, "encoder"):
        found = f"no token {missing[0]}" if missing else f"a {type(model).__name__}"
        raise InputError(found, expected="a T5 that was pretrained to fill blanks", path=folder)
    model.requires_grad_(False)
    model.eval()
    return Infiller(
        model,
        tokenizer,
        tuple(vocabulary[name] for name in SENTINELS),
        int(tokenizer.eos_token_id),
        int(tokenizer.pad_token_id),
        int(config.decoder_start_token_id),
        tuple(vocabulary[piece] for piece in FORBIDDEN if piece in vocabulary),
    )
