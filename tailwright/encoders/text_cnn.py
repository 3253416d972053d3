"""XML-CNN's encoder (Liu et al. 2017): convolutions over words, dynamic max pooling, a hidden bottleneck.

Filters of several widths slide over the word vectors of a text. The output of each filter along the text is
cut into `chunks` runs of equal length, and the largest value of each run is kept, so that the place of a
phrase in the text still shows. All of that goes through one narrow layer, whose output is the text's state.

Runs are cut by a text's own length, so padding changes nothing. A text shorter than a filter is read with
zeros behind it; one with fewer places than chunks has runs that share places.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tailwright.data.text.sequences import TokenBatch
from tailwright.encoders.dropout import Dropout
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.initial import start_xavier
from tailwright.encoders.mixing import Mixing, mixed_at
from tailwright.encoders.settings import TextCnnSettings
from tailwright.encoders.words import WordEmbedding
from tailwright.streams import stream


class TextCnn(nn.Module):
    """Rows of word ids to one state each: (rows, bottleneck).

    `table` (ids, width) float32 holds the word vectors to start from (`pretrained.word_vectors.word_table`).
    Other weights start Xavier-uniform, from a stream of their own, biases at zero.
    """

    by_token: ClassVar[bool] = False
    specials: ClassVar[int] = 0
    mix_points: ClassVar[tuple[str, ...]] = ("embeddings", "output")

    def __init__(self, table: np.ndarray, settings: TextCnnSettings, *, seed: int) -> None:
        super().__init__()
        self.settings, self.width = settings, settings.bottleneck
        self.words = WordEmbedding(table, settings.drop_words)
        layers = [nn.Conv1d(self.words.width, settings.filters, width) for width in settings.widths]
        self.convolutions = nn.ModuleList(layers)
        self.hidden = nn.Linear(
            len(settings.widths) * settings.filters * settings.chunks, settings.bottleneck
        )
        self.dropout = Dropout(settings.drop_hidden)
        random = stream(seed, "text-cnn")
        for layer in (*layers, self.hidden):
            start_xavier(layer, random)  # type: ignore[arg-type]

    @property
    def device(self) -> torch.device:
        return self.hidden.weight.device

    def forward(self, batch: TokenBatch, mixing: Mixing | None = None) -> Encoded:
        """States (rows, bottleneck)."""
        vectors = self.words(batch, self.device, longest=max(self.settings.widths))
        mask = torch.from_numpy(np.arange(vectors.shape[1]) < batch.lengths[:, None]).to(self.device)
        vectors, mixed = mixed_at("embeddings", mixing, vectors, mask)
        assert mixed is not None
        lengths = batch.lengths if mixed is mask else mixed.sum(1).cpu().numpy()
        along = vectors.transpose(1, 2)  # (rows, width, places)
        pooled = torch.cat([self._pooled(along, lengths, layer) for layer in self.convolutions], 1)
        states = self.dropout(functional.relu(self.hidden(pooled)))
        return Encoded(*mixed_at("output", mixing, states))

    def _pooled(self, along: torch.Tensor, lengths: np.ndarray, layer: Any) -> torch.Tensor:
        """(rows, filters x chunks): the largest value of each filter in each run of each text."""
        values = functional.relu(layer(along))  # (rows, filters, places)
        width = layer.kernel_size[0]
        runs = torch.from_numpy(chunk_places(np.maximum(lengths - width + 1, 1), self.settings.chunks))
        rows, chunks, longest = runs.shape
        index = runs.to(along.device).view(rows, 1, chunks * longest).expand(-1, values.shape[1], -1)
        of_runs = values.gather(2, index).view(rows, values.shape[1], chunks, longest)
        return of_runs.max(dim=3).values.reshape(rows, -1)


def chunk_places(counts: np.ndarray, chunks: int) -> np.ndarray:
    """(rows, chunks, longest) int64: the places of each run of 0..counts[row]-1 cut into `chunks` runs.

    A run that is shorter than the longest repeats its last place, which changes no maximum.

    >>> chunk_places(np.array([4, 1]), 2).tolist()
    [[[0, 1], [2, 3]], [[0, 0], [0, 0]]]
    """
    counts = counts.astype(np.int64)[:, None]
    numbers = np.arange(chunks)
    starts = numbers * counts // chunks  # (rows, chunks)
    ends = -(-(numbers + 1) * counts // chunks)
    steps = np.arange(int((ends - starts).max(initial=1)))
    return np.minimum(starts[:, :, None] + steps, ends[:, :, None] - 1)
