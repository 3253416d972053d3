"""XML-CNN's encoder (Liu et al. 2017): convolutions over words, dynamic max pooling, a hidden bottleneck.

Filters of several widths slide over the word vectors of a text. What each gives along the text is cut into
`chunks` runs of equal length, and of each run the largest value is kept, so that the place of a phrase in the
text still shows. All of that goes through one narrow layer, whose output is the text's vector.

Runs are cut by a text's own length, so padding changes nothing. A text shorter than a filter is read with
zeros behind it; one with fewer places than chunks has runs that share places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tailwright.data.text.sequences import TokenBatch
from tailwright.encoders.dropout import dropped
from tailwright.encoders.row_table import RowTable
from tailwright.encoders.word_embedding import WordEmbedding
from tailwright.streams import stream


@dataclass(frozen=True)
class TextCnnSettings:
    """The encoder's size.

    | setting | meaning |
    |---|---|
    | `widths` | words that a filter spans, a kind of filter each |
    | `filters` | filters of each width |
    | `chunks` | runs that a text is cut into by the dynamic max pooling |
    | `bottleneck` | width of the hidden layer, and of the text's vector |
    | `drop_words`, `drop_hidden` | dropout on word vectors, and on the text's vector |
    """

    widths: tuple[int, ...] = (2, 4, 8)
    filters: int = 128
    chunks: int = 8
    bottleneck: int = 512
    drop_words: float = 0.25
    drop_hidden: float = 0.5

    def __post_init__(self) -> None:
        if not self.widths or min(self.widths) < 1:
            raise ValueError(f"widths must be >= 1, and at least one, got {self.widths}")
        for name in ("filters", "chunks", "bottleneck"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        for name in ("drop_words", "drop_hidden"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be in [0, 1), got {getattr(self, name)}")


class TextCnn:
    """Rows of word ids to one vector each: (rows, bottleneck).

    `table` (ids, width) float32 holds the word vectors to start from (`data.text.word_vectors.word_table`).
    Other weights start Xavier-uniform, from the stream `name`, biases at zero.
    """

    def __init__(
        self, table: np.ndarray, settings: TextCnnSettings, *, seed: int, name: str = "text-cnn"
    ) -> None:
        self.settings = settings
        self.words = WordEmbedding(RowTable(table), settings.drop_words)
        random, filters = stream(seed, name), settings.filters
        self._parts = nn.ParameterDict()
        for width in settings.widths:
            shape = (filters, self.words.width, width)
            self._parts[f"filters{width}"] = _xavier(random, shape)
            self._parts[f"bias{width}"] = nn.Parameter(torch.zeros(filters))
        inside = len(settings.widths) * filters * settings.chunks
        self._parts["hidden"] = _xavier(random, (settings.bottleneck, inside))
        self._parts["hidden_bias"] = nn.Parameter(torch.zeros(settings.bottleneck))

    @property
    def by_token(self) -> bool:
        return False

    @property
    def width(self) -> int:
        """The size of the last axis of what is given."""
        return self.settings.bottleneck

    @property
    def device(self) -> torch.device:
        return self._parts["hidden"].device

    def to(self, device: torch.device) -> TextCnn:
        """Moves the weights; the parts stay the same. The table of words stays on the CPU."""
        self._parts.to(device)
        return self

    def parts(self, prefix: str) -> Mapping[str, RowTable | torch.Tensor]:
        """The table of words and all other weights, by name."""
        return {f"{prefix}.words": self.words.table, **{f"{prefix}.{n}": p for n, p in self._parts.items()}}

    def __call__(self, batch: TokenBatch, random: np.random.Generator | None = None) -> torch.Tensor:
        """(rows, bottleneck); `random` is the batch's stream in training."""
        vectors = self.words.padded(batch, random, self.device, longest=max(self.settings.widths))
        along = vectors.transpose(1, 2)  # (rows, width, places)
        pooled = [self._pooled(along, batch.lengths, width) for width in self.settings.widths]
        hidden = functional.linear(torch.cat(pooled, 1), self._parts["hidden"], self._parts["hidden_bias"])
        return dropped(functional.relu(hidden), self.settings.drop_hidden, random)

    def _pooled(self, along: torch.Tensor, lengths: np.ndarray, width: int) -> torch.Tensor:
        """(rows, filters x chunks): the largest value of each filter in each run of each text."""
        given = functional.relu(
            functional.conv1d(along, self._parts[f"filters{width}"], self._parts[f"bias{width}"])
        )  # (rows, filters, places)
        runs = torch.from_numpy(chunk_places(np.maximum(lengths - width + 1, 1), self.settings.chunks))
        rows, chunks, longest = runs.shape
        index = runs.to(along.device).view(rows, 1, chunks * longest).expand(-1, given.shape[1], -1)
        values = given.gather(2, index).view(rows, given.shape[1], chunks, longest)
        return values.max(dim=3).values.reshape(rows, -1)


def chunk_places(counts: np.ndarray, chunks: int) -> np.ndarray:
    """(rows, chunks, longest) int64: the places of each run of 0..counts[row]-1 cut into `chunks` runs.

    A run that is shorter than the longest says its last place again, which changes no maximum.

    >>> chunk_places(np.array([4, 1]), 2).tolist()
    [[[0, 1], [2, 3]], [[0, 0], [0, 0]]]
    """
    counts = counts.astype(np.int64)[:, None]
    numbers = np.arange(chunks)
    starts = numbers * counts // chunks  # (rows, chunks)
    ends = -(-(numbers + 1) * counts // chunks)
    steps = np.arange(int((ends - starts).max(initial=1)))
    return np.minimum(starts[:, :, None] + steps, ends[:, :, None] - 1)


def _xavier(random: np.random.Generator, shape: tuple[int, ...]) -> nn.Parameter:
    """Uniform as Glorot and Bengio have it; the axes behind the second are a filter's words."""
    spanned = int(np.prod(shape[2:]))
    bound = np.float32((6 / ((shape[0] + shape[1]) * spanned)) ** 0.5)
    return nn.Parameter(torch.from_numpy(bound * (2 * random.random(shape, dtype=np.float32) - 1)))
