"""`WordVocabulary`: the words of the training texts, numbered for sequence models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from tailwright.data.dataset import arrow_strings
from tailwright.data.text.sequences import TokenRows, cut_rows
from tailwright.data.text.words import Texts, WordTable, tokenise, word_counts
from tailwright.settings import Settings, setting
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter

PADDING, UNKNOWN = 0, 1
RESERVED = 2


@dataclass(frozen=True)
class WordVocabularySettings(Settings):
    """Which words get an id."""

    max_words: int = setting(500_000, "most ids, padding and the unknown word included", least=RESERVED)
    min_count: int = setting(1, "texts that a word must occur in", least=1)


@dataclass(frozen=True, eq=False)
class WordVocabulary:
    """Words with ids: 0 is padding, 1 is an unknown word, then the words by falling document frequency.

    >>> vocabulary = WordVocabulary.build(["red hat", "red shoe"])
    >>> vocabulary.vocabulary.to_pylist(), vocabulary.size
    (['red', 'hat', 'shoe'], 5)
    >>> batch = vocabulary.rows(["A red shoe", "hat", "?"], max_length=500).padded()
    >>> batch.ids.tolist(), batch.lengths.tolist()
    ([[1, 2, 4], [3, 0, 0], [1, 0, 0]], [3, 1, 1])
    """

    vocabulary: pa.LargeStringArray  # the word of id i is vocabulary[i - 2]
    padding_id: ClassVar[int] = PADDING  # fills a row after its last token

    def __post_init__(self) -> None:
        object.__setattr__(self, "vocabulary", arrow_strings(self.vocabulary))

    @staticmethod
    def build(texts: Texts, settings: WordVocabularySettings | None = None) -> WordVocabulary:
        """The vocabulary of the training texts; words of equal document frequency are in code point order."""
        settings = settings or WordVocabularySettings()
        tokens = tokenise(texts)
        documents, _ = word_counts(tokens)
        order = np.argsort(-documents, kind="stable")
        enough = int(np.count_nonzero(documents >= settings.min_count))
        kept = order[: min(enough, settings.max_words - RESERVED)]
        return WordVocabulary(tokens.vocabulary.take(pa.array(kept)))

    @property
    def size(self) -> int:
        """How many rows an embedding table needs."""
        return len(self.vocabulary) + RESERVED

    def rows(self, texts: Texts, max_length: int) -> TokenRows:
        """The ids of each text's first `max_length` words; a text without words becomes one unknown word."""
        if max_length < 1:
            raise ValueError(f"max_length must be >= 1, got {max_length}")
        tokens = tokenise(texts, self._table)
        ids = np.where(tokens.ids < 0, np.int32(UNKNOWN), tokens.ids + np.int32(RESERVED))
        return cut_rows(ids, tokens.offsets, max_length, padding=PADDING, if_empty=UNKNOWN)

    def save(self, folder: FolderWriter) -> None:
        folder.strings("words", self.vocabulary)

    @staticmethod
    def load(folder: FolderReader) -> WordVocabulary:
        loaded = WordVocabulary(folder.strings("words"))
        try:
            _ = loaded._table
        except ValueError as error:
            raise DamagedFolderError(str(error), expected="a saved vocabulary", path=folder.path) from error
        return loaded

    @cached_property
    def _table(self) -> WordTable:
        return WordTable(self.vocabulary)
