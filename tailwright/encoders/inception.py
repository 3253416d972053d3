"""InceptionXML's encoder (Kharbanda et al. 2021): convolutions along the axis of word vectors, not of words.

For a text of at most `length` words with vectors of width 300, and 32 channels:

| step | gives |
|---|---|
| word vectors, dropout | words x 300 |
| attention over words, then over the axis of vectors | words x 300 |
| a mix of words in each channel, GELU, batch norm | 32 x 300 |
| convolutions of width 4, 8 and 16 with stride 4, side by side; GELU, batch norm, dropout | 96 x 75 |
| convolution of width 16 with stride 4, GELU, batch norm | 32 x 15, flat 480 |

Attention is x + g (x y')(W x), with a number g that starts at 0. Padding is a word vector of zeros; it stays
zero in both attentions and adds nothing to a channel, so a batch is read only as far as its longest text.
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
from tailwright.encoders.initial import start_xavier
from tailwright.encoders.mixing import Mixing, mixed_at
from tailwright.encoders.residual import SpectralMap
from tailwright.encoders.settings import InceptionSettings
from tailwright.encoders.words import WordEmbedding
from tailwright.streams import stream

STRIDE = 4
WIDTHS = (4, 8, 16)  # of the first convolutions
LAST_WIDTH = 16  # of the second


class InceptionEncoder(nn.Module):
    """Rows of word ids to one state each: (rows, width).

    `table` (ids, vector width) float32 holds the word vectors to start from; rows have at most `length`
    words. `drop_channels` is the dropout behind the first batch norm.
    """

    by_token: ClassVar[bool] = False
    specials: ClassVar[int] = 0
    mix_points: ClassVar[tuple[str, ...]] = ("embeddings", "layer-1", "output")

    def __init__(
        self,
        table: np.ndarray,
        length: int,
        settings: InceptionSettings,
        *,
        seed: int,
        drop_channels: float = 0.0,
    ) -> None:
        super().__init__()
        channels, random = settings.channels, stream(seed, "inception")
        self.words = WordEmbedding(table, settings.drop_words)
        self.width = state_width(self.words.width, channels)
        self.channels = EnhancedChannels(length, self.words.width, channels, drop_channels, seed)
        self.inception = InceptionModule(channels, settings.drop_hidden, random)
        self.last = LastConvolution(len(WIDTHS) * channels, channels, random)

    @property
    def device(self) -> torch.device:
        return self.last.convolution.weight.device

    def forward(self, batch: TokenBatch, mixing: Mixing | None = None) -> Encoded:
        """States (rows, width)."""
        vectors = self.words(batch, self.device)  # (rows, words, vector width)
        inside = torch.from_numpy(batch.inside).to(self.device)
        vectors, _ = mixed_at("embeddings", mixing, vectors, inside)
        maps = self.inception(self.channels(vectors))
        maps, _ = mixed_at("layer-1", mixing, maps)
        return Encoded(*mixed_at("output", mixing, self.last(maps)))


class WordAttention(nn.Module):
    """x + g (x x')(W x) over the words of a text, with W (length, length) under a spectral norm."""

    def __init__(self, length: int, seed: int, name: str) -> None:
        super().__init__()
        self.map = SpectralMap(length, length, seed, name, bias=False)
        self.scale = nn.Parameter(torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, words, width)."""
        words = x.shape[1]
        mapped = torch.matmul(self.map.spectral_weight()[:words, :words], x)
        return x + self.scale * torch.bmm(torch.bmm(x, x.transpose(1, 2)), mapped)


class AxisAttention(nn.Module):
    """The same over the axis of word vectors, with W (width, width), between x and another input y.

    Transposed, (x' y)(W x') is ((x W') y') x, which never has (width, width) numbers a text.
    """

    def __init__(self, width: int, seed: int, name: str) -> None:
        super().__init__()
        self.map = SpectralMap(width, width, seed, name, bias=False)
        self.scale = nn.Parameter(torch.zeros(1))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """(rows, words, width) each."""
        return x + self.scale * torch.bmm(torch.bmm(self.map(x), y.transpose(1, 2)), x)


class EnhancedChannels(nn.Module):
    """Both attentions, then channels that mix the words of a text."""

    def __init__(self, length: int, width: int, channels: int, drop: float, seed: int) -> None:
        super().__init__()
        self.over_words = WordAttention(length, seed, "inception/words")
        self.over_axis = AxisAttention(width, seed, "inception/axis")
        self.project = nn.Linear(length, channels)
        self.norm, self.dropout = BatchNorm(channels), Dropout(drop)
        start_xavier(self.project, stream(seed, "inception/project"))

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """(rows, words, width) to (rows, channels, width)."""
        enhanced = self.over_axis(self.over_words(vectors), vectors)
        mixed = torch.matmul(self.project.weight[:, : vectors.shape[1]], enhanced)
        mixed = mixed + self.project.bias[:, None]
        channels: torch.Tensor = self.dropout(self.norm(functional.gelu(mixed)))
        return channels


class InceptionModule(nn.Module):
    """Convolutions of several widths, side by side."""

    def __init__(self, channels: int, drop: float, random: np.random.Generator) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(first_convolutions(channels, random))
        self.norm, self.dropout = BatchNorm(len(WIDTHS) * channels), Dropout(drop)

    def forward(self, channels: torch.Tensor) -> torch.Tensor:
        """(rows, channels, width) to (rows, 3 channels, width / 4)."""
        maps = torch.cat([convolution(channels) for convolution in self.convolutions], 1)
        normed: torch.Tensor = self.dropout(self.norm(functional.gelu(maps)))
        return normed


class LastConvolution(nn.Module):
    """The second convolution, and the state of a text."""

    def __init__(self, inputs: int, channels: int, random: np.random.Generator) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(inputs, channels, LAST_WIDTH, stride=STRIDE)
        self.norm = BatchNorm(channels)
        start_xavier(self.convolution, random)

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """(rows, inputs, places) to (rows, channels x fewer places)."""
        normed: torch.Tensor = self.norm(functional.gelu(self.convolution(maps)))
        return normed.flatten(1)


def first_convolutions(channels: int, random: np.random.Generator) -> list[nn.Conv1d]:
    """One of each width; padded in a circle, all give the same number of places."""
    layers = [
        nn.Conv1d(channels, channels, width, STRIDE, padding=(width - STRIDE) // 2, padding_mode="circular")
        for width in WIDTHS
    ]
    for layer in layers:
        start_xavier(layer, random)
    return layers


def state_width(vector_width: int, channels: int) -> int:
    """Numbers of a text's state.

    >>> state_width(300, 32)
    480
    """
    return channels * ((vector_width // STRIDE - LAST_WIDTH) // STRIDE + 1)
