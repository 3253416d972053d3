"""InceptionXML-LF's encoder: as InceptionXML's, but its convolutions are experts, and a text has two states.

For each text a route gives every expert, a convolution of width 4, 8 or 16, a weight in (0, 1):

    h1 = sum of r_k conv_k(h0) + average pool(h0)      r = sigmoid(W mean(h0) + b)

with h0 (32 x 300) the channels of `tailwright.encoders.inception`, and h1 (32 x 75) in the place of its three
maps side by side. The second convolution has two copies, for the meta and for the extreme classifier; their
states stand side by side.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tailwright.data.text.sequences import TokenBatch
from tailwright.encoders.batch_norm import BatchNorm
from tailwright.encoders.dropout import Dropout
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.inception import (
    STRIDE,
    WIDTHS,
    EnhancedChannels,
    LastConvolution,
    first_convolutions,
    state_width,
)
from tailwright.encoders.initial import start_xavier
from tailwright.encoders.mixing import Mixing, mixed_at
from tailwright.encoders.settings import InceptionSettings
from tailwright.encoders.words import WordEmbedding
from tailwright.streams import stream


class RoutedEncoder(nn.Module):
    """Rows of word ids to two states each, side by side: (rows, width).

    `table` (ids, vector width) float32 holds the word vectors to start from; rows have at most `length`
    words.
    """

    by_token: ClassVar[bool] = False
    specials: ClassVar[int] = 0
    mix_points: ClassVar[tuple[str, ...]] = ("embeddings", "layer-1", "output")

    def __init__(self, table: np.ndarray, length: int, settings: InceptionSettings, *, seed: int) -> None:
        super().__init__()
        channels, random = settings.channels, stream(seed, "routed-inception")
        self.words = WordEmbedding(table, settings.drop_words)
        self.width = 2 * state_width(self.words.width, channels)
        self.channels = EnhancedChannels(length, self.words.width, channels, 0.0, seed)
        self.experts = RoutedExperts(channels, settings.drop_hidden, random)
        self.for_meta = LastConvolution(channels, channels, random)
        self.for_labels = LastConvolution(channels, channels, random)

    @property
    def device(self) -> torch.device:
        return self.for_meta.convolution.weight.device

    def forward(self, batch: TokenBatch, mixing: Mixing | None = None) -> Encoded:
        """States (rows, width): that of the meta classifier, then that of the extreme one."""
        vectors = self.words(batch, self.device)  # (rows, words, vector width)
        inside = torch.from_numpy(batch.inside).to(self.device)
        vectors, _ = mixed_at("embeddings", mixing, vectors, inside)
        maps = self.experts(self.channels(vectors))
        maps, _ = mixed_at("layer-1", mixing, maps)
        states = torch.cat([self.for_meta(maps), self.for_labels(maps)], 1)
        return Encoded(*mixed_at("output", mixing, states))


class RoutedExperts(nn.Module):
    """The sum of convolutions, weighted for each text, and of an average pool."""

    def __init__(self, channels: int, drop: float, random: np.random.Generator) -> None:
        super().__init__()
        self.experts = nn.ModuleList(first_convolutions(channels, random))
        self.route = nn.Linear(channels, len(WIDTHS))
        self.norm, self.dropout = BatchNorm(channels), Dropout(drop)
        start_xavier(self.route, random)

    def forward(self, channels: torch.Tensor) -> torch.Tensor:
        """(rows, channels, width) to (rows, channels, width / 4)."""
        normed: torch.Tensor = self.dropout(self.norm(functional.gelu(self.routed(channels))))
        return normed

    def routed(self, channels: torch.Tensor) -> torch.Tensor:
        """(rows, channels, width / 4): before the non-linearity."""
        weights = torch.sigmoid(self.route(channels.mean(2)))  # (rows, experts)
        total = functional.avg_pool1d(channels, STRIDE)
        for number, expert in enumerate(self.experts):
            total = total + weights[:, number, None, None] * expert(channels)
        return total
