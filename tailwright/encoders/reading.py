"""What a classifier's head reads of a text, and the two ways to it: the encoder at work, or kept features.

| rows | are read by | gradients reach the encoder |
|---|---|---|
| `TokenReader` | the encoder, anew for each batch | yes |
| `FeatureReader` | looking up what a frozen encoder gave (`frozen_features`) | no |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from tailwright.data.text.sequences import TokenBatch, TokenRows
from tailwright.encoders.frozen_features import FrozenFeatures
from tailwright.encoders.row_table import RowTable


class TextEncoder(Protocol):
    """Rows of token ids to vectors: (rows, tokens, width) if `by_token`, else (rows, width)."""

    @property
    def by_token(self) -> bool: ...

    @property
    def width(self) -> int: ...

    @property
    def device(self) -> torch.device: ...

    def to(self, device: torch.device) -> TextEncoder:
        """Moves the weights; the parts stay the same."""
        ...

    def parts(self, prefix: str) -> Mapping[str, RowTable | torch.Tensor]:
        """The weights by name."""
        ...

    def __call__(self, batch: TokenBatch, random: np.random.Generator | None = None) -> torch.Tensor:
        """What it gives of a batch; with `random`, the batch's stream, as in training."""
        ...


@dataclass(frozen=True, eq=False)
class Read:
    """What was read of some texts."""

    states: torch.Tensor  # (rows, tokens, width), or (rows, width)
    mask: torch.Tensor | None  # (rows, tokens) bool: where a token is; None where states are not of tokens


def read(encoder: TextEncoder, batch: TokenBatch, random: np.random.Generator | None = None) -> Read:
    """What the encoder reads of a batch."""
    states = encoder(batch, random)
    inside = torch.from_numpy(batch.inside).to(states.device) if encoder.by_token else None
    return Read(states, inside)


class RowReader(Protocol):
    """Reads the rows of a corpus by their places."""

    @property
    def lengths(self) -> np.ndarray:
        """(rows,) what each costs to read, in tokens."""
        ...

    def __call__(self, rows: np.ndarray, random: np.random.Generator | None = None) -> Read: ...


@dataclass(frozen=True, eq=False)
class TokenReader:
    """Has the encoder read the rows, in training with `random`."""

    encoder: TextEncoder
    tokens: TokenRows

    @property
    def lengths(self) -> np.ndarray:
        return self.tokens.lengths

    def __call__(self, rows: np.ndarray, random: np.random.Generator | None = None) -> Read:
        return read(self.encoder, self.tokens.batch(rows), random)


@dataclass(frozen=True, eq=False)
class FeatureReader:
    """Looks the rows up; there is nothing that `random` could change."""

    features: FrozenFeatures
    device: torch.device

    @property
    def lengths(self) -> np.ndarray:
        return self.features.lengths

    def __call__(self, rows: np.ndarray, random: np.random.Generator | None = None) -> Read:
        mask = self.features.mask(rows).to(self.device) if self.features.by_token else None
        return Read(self.features.batch(rows).to(self.device), mask)
