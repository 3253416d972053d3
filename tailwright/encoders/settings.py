"""The settings of encoders, without torch, so that a model's settings can be listed at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailwright.settings import Settings, setting


@dataclass(frozen=True)
class WordSettings(Settings):
    """How texts are read as words out of a table of vectors."""

    width: int = setting(300, "numbers a word vector", least=1, most=65_536)
    vectors: str = setting(
        "random", "what word vectors start from: random, spacy (300), wordllama (256), glove (50) or a file"
    )
    pad_vectors: bool = setting(
        False, "whether vectors narrower than width are filled up with random numbers, not refused"
    )
    spread: float = setting(
        1.0, "random word vectors are uniform up to this, above and below 0", above=0, most=1000
    )
    learn_words: bool = setting(True, "whether word vectors are trained too")
    max_length: int = setting(500, "words of a text that are read", least=1)
    min_count: int = setting(1, "texts that a word must be in", least=1)
    vocabulary: int = setting(500_000, "how many words are kept, the most frequent first", least=2)


@dataclass(frozen=True)
class BiLstmSettings(Settings):
    """The size of `BiLstm`."""

    hidden: int = setting(256, "width of the LSTM in each direction", least=1, most=65_536)
    drop_words: float = setting(0.2, "dropout on word vectors", least=0, below=1)
    drop_states: float = setting(0.5, "dropout on the states of the LSTM", least=0, below=1)


@dataclass(frozen=True)
class TextCnnSettings(Settings):
    """The size of `TextCnn`."""

    widths: tuple[int, ...] = setting((2, 4, 8), "words that a filter spans, a kind of filter each", least=1)
    filters: int = setting(128, "filters of each width", least=1, most=65_536)
    chunks: int = setting(8, "runs of a text of which the largest value is kept", least=1, most=65_536)
    bottleneck: int = setting(512, "width of the hidden layer", least=1, most=65_536)
    drop_words: float = setting(0.25, "dropout on word vectors", least=0, below=1)
    drop_hidden: float = setting(0.5, "dropout on the hidden layer", least=0, below=1)

    def check(self) -> None:
        if not self.widths:
            raise ValueError("widths must be one or more numbers of words, got none")


@dataclass(frozen=True)
class InceptionSettings(Settings):
    """The size of `InceptionEncoder`."""

    channels: int = setting(32, "channels of every convolution", least=1, most=65_536)
    drop_words: float = setting(0.25, "dropout on word vectors", least=0, below=1)
    drop_hidden: float = setting(0.25, "dropout on hidden layers", least=0, below=1)


@dataclass(frozen=True)
class TransformerSettings(Settings):
    """Which pretrained transformer reads the texts, and how it is trained with the head that stands on it."""

    encoder: str = setting(
        "minilm", "a hub id such as roberta-base, a folder, or minilm for the package of that name"
    )
    max_tokens: int = setting(512, "tokens of a text that are read, the special ones included", least=3)
    frozen: bool = setting(
        False, "the encoder is not trained: its features are computed once and kept in a file"
    )
    features: Literal["float32", "float16"] = setting("float32", "precision of that file")
    checkpointing: bool = setting(
        False, "compute a layer again instead of keeping its states: less memory, more time"
    )

    rate: float = setting(1e-4, "learning rate of the encoder", above=0, most=1000)
    head_rate: float = setting(5e-3, "learning rate of the head", above=0, most=1000)
    head_epochs: int = setting(
        0,
        "passes that train the head alone, on features computed once, before both learn",
        least=0,
        most=1_000_000,
    )
    head_epochs_rate: float = setting(1e-2, "learning rate of these passes", above=0, most=1000)

    def check(self) -> None:
        if not self.encoder:
            raise ValueError("encoder must be a name or a folder, got nothing")
        if self.head_epochs and self.frozen:
            raise ValueError("head_epochs must be 0 with a frozen encoder: all epochs are the head's alone")
