"""AttentionXML's encoder (You et al. 2019): word vectors, dropout, one bidirectional LSTM, dropout.

The LSTM starts from learnt states, zero at first, and reads each text from both of its ends, so a text gives
the same alone as in any batch.

torch reads packed sequences word by word on the CPU, while a batch that is just padded goes through one fused
kernel. So each direction is an LSTM of its own over padded rows: the one from the end reads rows that are
reversed within their own length, and what is read behind a row is set to zero. For 20 rows of 90 to 100
words, a forward and a backward pass take 0.35 of the time of packed ones, a forward pass alone 0.7 (width
300, hidden 256, one thread).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from torch import nn

from tailwright.data.text.sequences import TokenBatch
from tailwright.encoders.dropout import Dropout
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.mixing import Mixing, mixed_at
from tailwright.encoders.settings import BiLstmSettings
from tailwright.encoders.words import WordEmbedding
from tailwright.streams import stream


class BiLstm(nn.Module):
    """Rows of word ids to a state a word: (rows, words, 2 hidden).

    `table` (ids, width) float32 holds the word vectors to start from (`pretrained.word_vectors.word_table`).
    Weights are drawn as torch draws them, from the stream `name`.
    """

    by_token: ClassVar[bool] = True
    specials: ClassVar[int] = 0
    mix_points: ClassVar[tuple[str, ...]] = ("embeddings", "output")

    def __init__(
        self, table: np.ndarray, settings: BiLstmSettings, *, seed: int, name: str = "bilstm"
    ) -> None:
        super().__init__()
        self.words = WordEmbedding(table, settings.drop_words)
        self.width = 2 * settings.hidden
        self.directions = nn.ModuleDict(
            {end: nn.LSTM(self.words.width, settings.hidden, batch_first=True) for end in ("start", "end")}
        )
        random, bound = stream(seed, name), np.float32(settings.hidden**-0.5)
        with torch.no_grad():
            for weight in self.directions.parameters():
                drawn = random.random(tuple(weight.shape), dtype=np.float32)
                weight.copy_(torch.from_numpy(bound * (2 * drawn - 1)))
        # (direction, hidden or cell, hidden)
        self.first_states = nn.Parameter(torch.zeros(2, 2, settings.hidden))
        self.dropout = Dropout(settings.drop_states)

    @property
    def device(self) -> torch.device:
        return self.first_states.device

    def forward(self, batch: TokenBatch, mixing: Mixing | None = None) -> Encoded:
        """States (rows, longest, 2 hidden), zero behind the end of a row."""
        mask = torch.from_numpy(batch.inside).to(self.device)
        vectors, mixed = mixed_at("embeddings", mixing, self.words(batch, self.device), mask)
        assert mixed is not None
        lengths = batch.lengths if mixed is mask else mixed.sum(1).cpu().numpy()
        reverse = torch.from_numpy(reversed_places(lengths, vectors.shape[1])).to(self.device)
        from_start = self._read("start", vectors, 0)
        from_end = _at(self._read("end", _at(vectors, reverse), 1), reverse)
        states = torch.cat([from_start, from_end], dim=2)  # (rows, longest, 2 hidden)
        states = self.dropout(states.masked_fill(~mixed[:, :, None], 0))
        return Encoded(*mixed_at("output", mixing, states, mixed))

    def _read(self, end: str, vectors: torch.Tensor, direction: int) -> torch.Tensor:
        """(rows, longest, hidden) of one direction."""
        first_states = self.first_states[direction].unsqueeze(1)  # (hidden or cell, 1, hidden)
        hidden, cell = first_states.expand(-1, len(vectors), -1).contiguous()
        states: torch.Tensor = self.directions[end](vectors, (hidden[None], cell[None]))[0]
        return states


def reversed_places(lengths: np.ndarray, longest: int) -> np.ndarray:
    """(rows, longest) int64: where each place of a row is when the row is reversed; padding stays behind.

    >>> reversed_places(np.array([3, 1]), 4).tolist()
    [[2, 1, 0, 3], [0, 1, 2, 3]]
    """
    places = np.arange(longest)
    ends = lengths.astype(np.int64)[:, None]
    return np.where(places < ends, ends - 1 - places, places)


def _at(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """The values (rows, longest, width) of each row at `places` (rows, longest)."""
    return values.gather(1, places[:, :, None].expand(-1, -1, values.shape[2]))
