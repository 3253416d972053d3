"""How a model reads texts: as words out of a table, or as the tokens of a pretrained transformer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from tailwright.data.text.sequences import TokenRows
from tailwright.data.text.vocabulary import WordVocabulary, WordVocabularySettings
from tailwright.data.text.word_vectors import word_table
from tailwright.encoders.frozen_features import frozen_features
from tailwright.encoders.reading import FeatureReader, RowReader, TextEncoder, TokenReader
from tailwright.encoders.settings import TransformerSettings, WordSettings
from tailwright.encoders.shared_tokens import shared_tokens
from tailwright.encoders.transformer import TransformerEncoder
from tailwright.store import FolderReader, FolderWriter
from tailwright.training.workplace import Workplace


class Texts(Protocol):
    """Texts as a network reads them."""

    def tokens(self, texts: pa.LargeStringArray) -> TokenRows: ...

    def reader(self, encoder: TextEncoder, tokens: TokenRows, work: Workplace, *, frozen: bool) -> RowReader:
        """What reads these rows while the network learns; `frozen`: while its encoder does not."""
        ...

    def save(self, folder: FolderWriter) -> None: ...


@dataclass(frozen=True, eq=False)
class WordTexts:
    """Texts as words."""

    words: WordVocabulary
    max_length: int

    @staticmethod
    def of(
        settings: WordSettings, texts: pa.LargeStringArray, *, seed: int, work: Workplace
    ) -> tuple[WordTexts, np.ndarray]:
        """The words of these texts that are kept, and the table (ids, width) that they start from."""
        with work.phase("words"):
            kept = WordVocabularySettings(settings.vocabulary, settings.min_count)
            words = WordVocabulary.build(texts, kept)
            table = word_table(words, settings.width, settings.vectors, seed=seed)
        return WordTexts(words, settings.max_length), table

    def tokens(self, texts: pa.LargeStringArray) -> TokenRows:
        return self.words.rows(texts, self.max_length)

    def reader(self, encoder: TextEncoder, tokens: TokenRows, work: Workplace, *, frozen: bool) -> RowReader:
        return TokenReader(encoder, tokens)

    def save(self, folder: FolderWriter) -> None:
        self.words.save(folder.sub("words"))

    @staticmethod
    def load(folder: FolderReader, settings: WordSettings) -> tuple[WordTexts, np.ndarray]:
        """What `save` wrote, and a table of zeros, whose weights are still to be loaded."""
        words = WordVocabulary.load(folder.sub("words"))
        return WordTexts(words, settings.max_length), np.zeros((words.size, settings.width), np.float32)


@dataclass(frozen=True, eq=False)
class TransformerTexts:
    """Texts as the tokens of a transformer; `features` is the folder where those of a frozen one are kept."""

    encoder: TransformerEncoder
    settings: TransformerSettings
    features: Path | None = None

    def tokens(self, texts: pa.LargeStringArray) -> TokenRows:
        return shared_tokens(self.encoder.tokenizer, texts, self.encoder.max_tokens)

    def reader(self, encoder: TextEncoder, tokens: TokenRows, work: Workplace, *, frozen: bool) -> RowReader:
        if not frozen:
            return TokenReader(encoder, tokens)
        assert self.features is not None
        with work.phase("features", rows=len(tokens)):
            kept = frozen_features(self.encoder, tokens, self.features, precision=self.settings.features)
        return FeatureReader(kept, self.encoder.device)

    def save(self, folder: FolderWriter) -> None:
        self.encoder.save(folder.sub("encoder"))
