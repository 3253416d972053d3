"""`WordSettings`: what can be set of models that read words out of a table of vectors."""

from __future__ import annotations

from dataclasses import dataclass

from tailwright.models.shared.learning_settings import LearningSettings


@dataclass(frozen=True)
class WordSettings(LearningSettings):
    """The words, besides `LearningSettings`.

    | setting | meaning |
    |---|---|
    | `width`, `vectors` | numbers a word vector, and what they start from: `random`, `glove` or a file |
    | `learn_words` | whether word vectors are trained too |
    | `max_length` | words of a text that are read |
    | `min_count`, `vocabulary` | texts that a word must be in, and how many words are kept |
    | `rate` | learning rate |
    """

    width: int = 300
    vectors: str = "random"
    learn_words: bool = True
    max_length: int = 500
    min_count: int = 1
    vocabulary: int = 500_000
    rate: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("width", "max_length", "min_count"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        if self.vocabulary < 2:
            raise ValueError(f"vocabulary must be >= 2, got {self.vocabulary}")
        if not self.rate > 0:
            raise ValueError(f"rate must be > 0, got {self.rate}")
