"""`EncoderSettings`: what can be set of models on a pretrained transformer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailwright.models._learning_settings import LearningSettings


@dataclass(frozen=True)
class EncoderSettings(LearningSettings):
    """The encoder, besides `LearningSettings`.

    | setting | meaning |
    |---|---|
    | `encoder` | a hub id such as `roberta-base`, a folder, or `minilm` for the package of that name |
    | `max_tokens` | tokens of a text that are read, the special ones included |
    | `rate`, `head_rate` | learning rates of the encoder, and of what stands on it |
    | `frozen` | the encoder is not trained: its features are computed once, kept in a file and read from it |
    | `features` | precision of that file |
    | `checkpointing` | compute a layer again instead of keeping what it gave: less memory, more time |
    """

    encoder: str = "minilm"
    max_tokens: int = 512
    rate: float = 1e-4
    head_rate: float = 5e-3
    frozen: bool = False
    features: Literal["float32", "float16"] = "float32"
    checkpointing: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.encoder:
            raise ValueError("encoder must be a name or a folder, got nothing")
        if self.max_tokens < 3:
            raise ValueError(f"max_tokens must be >= 3, got {self.max_tokens}")
        for name in ("rate", "head_rate"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be > 0, got {getattr(self, name)}")
