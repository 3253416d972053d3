"""`EncoderSettings`: what can be set of models on a pretrained transformer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

from tailwright.models.shared.learning_settings import LearningSettings


@dataclass(frozen=True)
class EncoderSettings(LearningSettings):
    """The encoder, besides `LearningSettings`.

    | setting | meaning |
    |---|---|
    | `encoder` | a hub id such as `roberta-base`, a folder, or `minilm` for the package of that name |
    | `max_tokens` | tokens of a text that are read, the special ones included |
    | `rate`, `head_rate` | learning rates of the encoder, and of what stands on it |
    | `head_epochs` | passes that train the head alone, on features computed once, before both learn |
    | `head_epochs_rate` | learning rate of these passes |
    | `frozen` | the encoder is not trained: its features are computed once, kept in a file and read from it |
    | `features` | precision of that file |
    | `checkpointing` | compute a layer again instead of keeping what it gave: less memory, more time |
    """

    encoder: str = "minilm"
    max_tokens: int = 512
    rate: float = 1e-4
    head_rate: float = 5e-3
    head_epochs: int = 0
    head_epochs_rate: float = 1e-2
    frozen: bool = False
    features: Literal["float32", "float16"] = "float32"
    checkpointing: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.encoder:
            raise ValueError("encoder must be a name or a folder, got nothing")
        if self.max_tokens < 3:
            raise ValueError(f"max_tokens must be >= 3, got {self.max_tokens}")
        for name in ("rate", "head_rate", "head_epochs_rate"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be > 0, got {getattr(self, name)}")
        if self.head_epochs < 0:
            raise ValueError(f"head_epochs must be >= 0, got {self.head_epochs}")
        if self.head_epochs and self.frozen:
            raise ValueError("head_epochs must be 0 with a frozen encoder: all epochs are the head's alone")

    def of_head(self) -> Self:
        """The settings of the passes before the encoder learns."""
        return replace(
            self, frozen=True, epochs=self.head_epochs, head_rate=self.head_epochs_rate, head_epochs=0
        )
