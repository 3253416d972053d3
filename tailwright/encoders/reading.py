"""How the rows of a corpus are read while a network learns: by the encoder, or from kept features.

| reader | reads | gradients reach the encoder |
|---|---|---|
| `TokenReader` | by the encoder, anew for each batch | yes |
| `FeatureReader` | what a frozen encoder gave once (`frozen_features`) | no |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from tailwright.data.text.sequences import TokenBatch, TokenRows
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.frozen_features import FrozenFeatures
from tailwright.encoders.joined_tokens import TokenJoiner
from tailwright.encoders.mixing import Mixing, mixed_at


class TextEncoder(Protocol):
    """A module that turns rows of token ids into states, one a token or one a text."""

    @property
    def mix_points(self) -> tuple[str, ...]: ...

    @property
    def specials(self) -> int:
        """Special tokens of every text, half of them in front."""
        ...

    def __call__(self, batch: TokenBatch, mixing: Mixing | None = None) -> Encoded: ...


class RowReader(Protocol):
    """Reads the rows of a corpus by their places."""

    @property
    def lengths(self) -> np.ndarray:
        """(rows,) what each costs to read, in tokens."""
        ...

    @property
    def mix_points(self) -> tuple[str, ...]: ...

    def __call__(self, rows: np.ndarray, mixing: Mixing | None = None) -> Encoded: ...


@dataclass(frozen=True, eq=False)
class TokenReader:
    """Has the encoder read the rows, behind which the texts of `joiner` can stand."""

    encoder: TextEncoder
    tokens: TokenRows
    joiner: TokenJoiner | None = None

    @property
    def lengths(self) -> np.ndarray:
        return self.tokens.lengths

    @property
    def mix_points(self) -> tuple[str, ...]:
        """Replacing tokens takes the gradient of their embeddings, so those must be a mix point too."""
        points = self.encoder.mix_points
        return ("tokens", *points) if "embeddings" in points else points

    def batch(self, rows: np.ndarray, appended: np.ndarray) -> TokenBatch:
        """The tokens of these rows, each with the text at `appended` (rows,) behind it, -1 for none."""
        if self.joiner is None:
            return self.tokens.batch(rows)
        return self.joiner.batch(rows, appended)

    def __call__(self, rows: np.ndarray, mixing: Mixing | None = None) -> Encoded:
        return self.encoder(self.tokens.batch(rows), mixing)


@dataclass(frozen=True, eq=False)
class FeatureReader:
    """Looks the rows up."""

    features: FrozenFeatures
    device: torch.device
    mix_points = ("output",)

    @property
    def lengths(self) -> np.ndarray:
        return self.features.lengths

    def __call__(self, rows: np.ndarray, mixing: Mixing | None = None) -> Encoded:
        mask = self.features.mask(rows).to(self.device) if self.features.by_token else None
        return Encoded(*mixed_at("output", mixing, self.features.batch(rows).to(self.device), mask))
