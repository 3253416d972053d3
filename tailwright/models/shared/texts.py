"""How a model reads texts: as words out of a table, or as the tokens of a pretrained transformer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from tailwright.code_version import code_version
from tailwright.data.dataset import arrow_strings
from tailwright.data.text.huggingface import HuggingFaceTokenizer
from tailwright.data.text.sequences import TokenRows
from tailwright.data.text.vocabulary import WordVocabulary, WordVocabularySettings
from tailwright.encoders.frozen_features import frozen_features
from tailwright.encoders.reading import FeatureReader, RowReader, TextEncoder, TokenReader
from tailwright.encoders.settings import TransformerSettings, WordSettings
from tailwright.encoders.transformer import Kind, TransformerEncoder
from tailwright.models.shared.memory import reading_bytes, scoring_bytes, transformer_bytes
from tailwright.models.shared.token_network import TOKENS_A_PASS
from tailwright.pretrained.word_vectors import word_table
from tailwright.store import FolderReader, FolderWriter
from tailwright.store.shared import content_key, shared, shared_folder
from tailwright.training.settings import TrainingSettings
from tailwright.training.workplace import Workplace


@dataclass(frozen=True)
class Stage:
    """Which modules learn together, and how."""

    name: str  # behind the model's name
    rates: Mapping[str, float | None]  # None: frozen
    training: TrainingSettings
    frozen_encoder: bool = False
    passes: tuple[np.ndarray, ...] = ()  # rows that an epoch sees one part after the other; none: all at once


class Texts(Protocol):
    """Texts as a network reads them, and the stages in which that network is trained."""

    @property
    def has_lasting_features(self) -> bool:
        """Whether a text has the same features before and after training, so that they can be kept."""
        ...

    def tokens(self, texts: pa.LargeStringArray) -> TokenRows: ...

    def reader(self, encoder: TextEncoder, tokens: TokenRows, work: Workplace, *, frozen: bool) -> RowReader:
        """What reads these rows while the network learns; `frozen`: while its encoder does not."""
        ...

    def stages(self, settings: Any) -> list[Stage]:
        """How a network on such texts is trained; `settings` are the model's."""
        ...

    def save(self, folder: FolderWriter) -> None: ...


@dataclass(frozen=True, eq=False)
class WordTexts:
    """Texts as words."""

    words: WordVocabulary
    max_length: int
    has_lasting_features = False

    @staticmethod
    def of(
        settings: WordSettings, texts: pa.LargeStringArray, *, seed: int, work: Workplace
    ) -> tuple[WordTexts, np.ndarray]:
        """The words of these texts that are kept, and the table (ids, width) that they start from."""
        with work.phase("words"):
            kept = WordVocabularySettings(settings.vocabulary, settings.min_count)
            words = WordVocabulary.build(texts, kept)
            table = start_table(words, settings, seed)
        return WordTexts(words, settings.max_length), table

    def tokens(self, texts: pa.LargeStringArray) -> TokenRows:
        return self.words.rows(texts, self.max_length)

    def reader(self, encoder: TextEncoder, tokens: TokenRows, work: Workplace, *, frozen: bool) -> RowReader:
        return TokenReader(encoder, tokens)

    def stages(self, settings: Any) -> list[Stage]:
        words = settings.rate if settings.words.learn_words else None
        rates = {"encoder": settings.rate, "encoder.words": words, "head": settings.rate}
        return [Stage("", rates, settings.training)]

    def save(self, folder: FolderWriter) -> None:
        self.words.save(folder.sub("words"))

    @staticmethod
    def load(folder: FolderReader, settings: WordSettings) -> tuple[WordTexts, np.ndarray]:
        """What `save` wrote, and a table of zeros, whose weights are still to be loaded."""
        words = WordVocabulary.load(folder.sub("words"))
        return WordTexts(words, settings.max_length), np.zeros((words.size, settings.width), np.float32)


def start_table(words: WordVocabulary, settings: WordSettings, seed: int) -> np.ndarray:
    """(ids, width) float32: what the vectors of words start from by these settings."""
    return word_table(
        words,
        settings.width,
        settings.vectors,
        spread=settings.spread,
        pad=settings.pad_vectors,
        seed=seed,
    )


@dataclass(frozen=True, eq=False)
class TransformerTexts:
    """Texts as the tokens of a transformer; `features` is the folder where those of a frozen one are kept."""

    encoder: TransformerEncoder
    settings: TransformerSettings
    features: Path | None = None

    @staticmethod
    def of(settings: TransformerSettings, kind: Kind, features: Path, work: Workplace) -> TransformerTexts:
        """Texts that the pretrained encoder of these settings reads."""
        with work.phase("encoder"):
            encoder = TransformerEncoder.pretrained(
                settings.encoder, kind, max_tokens=settings.max_tokens, checkpointing=settings.checkpointing
            )
        return TransformerTexts(encoder, settings, features)

    @property
    def has_lasting_features(self) -> bool:
        return self.settings.frozen and self.settings.features == "float32"  # narrower ones rank otherwise

    def tokens(self, texts: pa.LargeStringArray) -> TokenRows:
        return shared_tokens(self.encoder.tokenizer, texts, self.encoder.max_tokens)

    def reader(self, encoder: TextEncoder, tokens: TokenRows, work: Workplace, *, frozen: bool) -> RowReader:
        if not frozen:
            return TokenReader(encoder, tokens)
        folder = self.features or shared_folder()
        assert folder is not None
        with work.phase("features", rows=len(tokens)):
            kept = frozen_features(self.encoder, tokens, folder, precision=self.settings.features)
        return FeatureReader(kept, self.encoder.device)

    def stages(self, settings: Any) -> list[Stage]:
        """The head alone for `head_epochs`, from features computed once, then both.

        A random head would spoil the encoder (Kumar et al. 2022, linear probing, then fine-tuning).
        """
        chosen, training = self.settings, settings.training
        rates = {"head": chosen.head_rate, "encoder": None if chosen.frozen else chosen.rate}
        both = Stage("", rates, training, chosen.frozen)
        if not chosen.head_epochs:
            return [both]
        of_head = replace(training, epochs=chosen.head_epochs)
        return [Stage("/head", {"head": chosen.head_epochs_rate}, of_head, frozen_encoder=True), both]

    def batch_bytes(self, rows: int, tokens: TokenRows, labels: int) -> float:
        """What a step on so many of these rows holds."""
        batch = scoring_bytes(rows, labels)
        if not self.settings.frozen:
            batch += transformer_bytes(self.encoder, rows, int(tokens.lengths.max(initial=0)))
        return max(batch, reading_bytes(self.encoder, min(TOKENS_A_PASS, len(tokens.ids))))

    def save(self, folder: FolderWriter) -> None:
        self.encoder.save(folder.sub("encoder"))

    @staticmethod
    def load(folder: FolderReader, settings: TransformerSettings) -> TransformerTexts:
        """What `save` wrote; the weights of the encoder are still to be loaded."""
        return TransformerTexts(TransformerEncoder.load(folder.sub("encoder")), settings)


def shared_tokens(
    tokenizer: HuggingFaceTokenizer, texts: pa.LargeStringArray | Sequence[str], max_tokens: int
) -> TokenRows:
    """`tokenizer.rows(texts, max_tokens)`, once for all trainings that share their work (`store.shared`).

    The words of a `WordVocabulary` are numbered as quickly as they are loaded: they are not shared.
    """
    rows = arrow_strings(texts)
    version = ["tailwright.data.text.huggingface"]
    return shared(
        "tokens",
        lambda: content_key(code_version(version), tokenizer.identity, max_tokens, rows),
        lambda: tokenizer.rows(rows, max_tokens),
        lambda folder, made: made.save(folder),
        lambda folder: TokenRows.load(folder, rows=len(rows), size=tokenizer.size),
    )
