"""`WordVocabulary`: the words of the training texts, numbered for sequence models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tailwright.data.dataset import arrow_strings
from tailwright.data.text.sequences import TokenBatch, TokenRows, cut_rows
from tailwright.data.text.words import Splitter, Texts, WordTable, split_words, tokenise, word_counts
from tailwright.errors import InputError

if TYPE_CHECKING:
    from tailwright.store import FolderReader, FolderWriter

PADDING, UNKNOWN = 0, 1
RESERVED = 2


@dataclass(frozen=True)
class WordVocabularySettings:
    """Which words get an id: those in at least `min_count` texts; no more than `max_words` ids in all."""

    max_words: int = 500_000  # padding and the unknown word included
    min_count: int = 1

    def __post_init__(self) -> None:
        if self.max_words < RESERVED:
            raise ValueError(f"max_words must be >= {RESERVED}, got {self.max_words}")
        if self.min_count < 1:
            raise ValueError(f"min_count must be >= 1, got {self.min_count}")


@dataclass(frozen=True, eq=False)
class WordVocabulary:
    """Words with ids: 0 is padding, 1 is an unknown word, then the words by falling document frequency.

    `words` splits a text; any function will do, the default is the fastest.

    >>> vocabulary = WordVocabulary.build(["red hat", "red shoe"])
    >>> vocabulary.vocabulary.to_pylist(), vocabulary.size
    (['red', 'hat', 'shoe'], 5)
    >>> batch = vocabulary.encode(["A red shoe", "hat", "?"], max_length=500)
    >>> batch.ids.tolist(), batch.lengths.tolist()
    ([[1, 2, 4], [3, 0, 0], [1, 0, 0]], [3, 1, 1])
    """

    vocabulary: pa.LargeStringArray  # the word of id i is vocabulary[i - 2]
    words: Splitter = split_words

    def __post_init__(self) -> None:
        object.__setattr__(self, "vocabulary", arrow_strings(self.vocabulary))

    @staticmethod
    def build(
        texts: Texts,
        settings: WordVocabularySettings | None = None,
        *,
        words: Splitter = split_words,
        threads: int | None = None,
    ) -> WordVocabulary:
        """The vocabulary of the training texts; words of the same document frequency by code point."""
        settings = settings or WordVocabularySettings()
        tokens = tokenise(texts, words=words, threads=threads)
        documents, _ = word_counts(tokens, threads=threads)
        order = np.argsort(-documents, kind="stable")
        enough = int(np.count_nonzero(documents >= settings.min_count))
        kept = order[: min(enough, settings.max_words - RESERVED)]
        return WordVocabulary(tokens.vocabulary.take(pa.array(kept)), words)

    @property
    def padding_id(self) -> int:
        return PADDING

    @property
    def unknown_id(self) -> int:
        return UNKNOWN

    @property
    def size(self) -> int:
        return len(self.vocabulary) + RESERVED

    def rows(self, texts: Texts, max_length: int, *, threads: int | None = None) -> TokenRows:
        """The ids of each text's first `max_length` words; a text without words is one unknown word."""
        if max_length < 1:
            raise ValueError(f"max_length must be >= 1, got {max_length}")
        tokens = tokenise(texts, self._table, words=self.words, threads=threads)
        ids = np.where(tokens.ids < 0, np.int32(UNKNOWN), tokens.ids + np.int32(RESERVED))
        return cut_rows(ids, tokens.offsets, max_length, padding=PADDING, if_empty=UNKNOWN)

    def encode(self, texts: Texts, max_length: int, *, threads: int | None = None) -> TokenBatch:
        """The same, padded as one batch."""
        return self.rows(texts, max_length, threads=threads).padded()

    def save(self, folder: FolderWriter) -> None:
        """Writes the words, and the name of the function that splits texts."""
        folder.json("words.json", {"splitter": _name(self.words)})
        folder.strings("words", self.vocabulary)

    @staticmethod
    def load(folder: FolderReader, words: Splitter = split_words) -> WordVocabulary:
        """What `save` wrote; `words` must be the function it was built with, for files hold no code."""
        from tailwright.store import DamagedFolderError

        described = folder.json("words.json")
        if described != {"splitter": _name(words)}:
            raise InputError(
                f"words split by {described!r}", expected=f"{_name(words)}", path=folder.path / "words.json"
            )
        loaded = WordVocabulary(folder.strings("words"), words)
        try:
            _ = loaded._table
        except ValueError as error:
            raise DamagedFolderError(str(error), expected="a saved vocabulary", path=folder.path) from error
        return loaded

    @cached_property
    def _table(self) -> WordTable:
        return WordTable(self.vocabulary)


def _name(words: Splitter) -> str:
    return f"{words.__module__}.{words.__qualname__}"
