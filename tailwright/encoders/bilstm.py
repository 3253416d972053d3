"""AttentionXML's encoder (You et al. 2019): word vectors, dropout, one bidirectional LSTM, dropout.

The LSTM starts from states that are learnt, zero at first, and reads each text from one of its ends to the
other, so that a text gives the same alone as in any batch.

torch has this as packed sequences. On the CPU these are read word by word; a batch that is just padded goes
through one fused kernel. So each direction is an LSTM of its own over padded rows: the one from the end reads
rows that are turned round within their own length, and whatever is read behind a row is set to zero. For 20
rows of 90 to 100 words, a forward and a backward pass take 0.35 of the time of packed ones, a forward pass
alone 0.7 (width 300, hidden 256, one thread).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from tailwright.data.text.sequences import TokenBatch
from tailwright.encoders.dropout import dropped
from tailwright.encoders.row_table import RowTable
from tailwright.encoders.word_embedding import WordEmbedding
from tailwright.streams import stream


@dataclass(frozen=True)
class BiLstmSettings:
    """The encoder's size.

    | setting | meaning |
    |---|---|
    | `hidden` | width of the LSTM in each direction; the encoder gives twice that |
    | `drop_words`, `drop_states` | dropout on word vectors, and on what the LSTM gives |
    """

    hidden: int = 256
    drop_words: float = 0.2
    drop_states: float = 0.5

    def __post_init__(self) -> None:
        if self.hidden < 1:
            raise ValueError(f"hidden must be >= 1, got {self.hidden}")
        for name in ("drop_words", "drop_states"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be in [0, 1), got {getattr(self, name)}")


class BiLstm:
    """Rows of word ids to a vector a word: (rows, words, 2 hidden).

    `table` (ids, width) float32 holds the word vectors to start from (`data.text.word_vectors.word_table`);
    padding is never looked up. Weights are drawn as torch draws them, from the stream `name`.
    """

    def __init__(
        self, table: np.ndarray, settings: BiLstmSettings, *, seed: int, name: str = "bilstm"
    ) -> None:
        self.settings = settings
        self.words = WordEmbedding(RowTable(table), settings.drop_words)
        self.directions = nn.ModuleDict(
            {end: nn.LSTM(self.words.width, settings.hidden, batch_first=True) for end in ("start", "end")}
        )
        random, bound = stream(seed, name), np.float32(settings.hidden**-0.5)
        with torch.no_grad():
            for part in self.directions.parameters():
                drawn = random.random(tuple(part.shape), dtype=np.float32)
                part.copy_(torch.from_numpy(bound * (2 * drawn - 1)))
        self.states = nn.Parameter(torch.zeros(2, 2, settings.hidden))  # (direction, hidden or cell, hidden)

    @property
    def by_token(self) -> bool:
        return True

    @property
    def width(self) -> int:
        """The size of the last axis of what is given."""
        return 2 * self.settings.hidden

    @property
    def device(self) -> torch.device:
        return self.states.device

    def to(self, device: torch.device) -> BiLstm:
        """Moves the weights; the parts stay the same. The table of words stays on the CPU."""
        self.directions.to(device)
        self.states.data = self.states.data.to(device)
        return self

    def parts(self, prefix: str) -> Mapping[str, RowTable | torch.Tensor]:
        """The table of words, the LSTM from each end and their first states, by name."""
        lstm = {f"{prefix}.from_{name}": part for name, part in self.directions.named_parameters()}
        return {f"{prefix}.words": self.words.table, **lstm, f"{prefix}.states": self.states}

    def __call__(self, batch: TokenBatch, random: np.random.Generator | None = None) -> torch.Tensor:
        """(rows, longest, 2 hidden), zero behind the end of a row; its mask is `batch.inside`.

        `random` is the batch's stream in training.
        """
        vectors = self.words.padded(batch, random, self.device)
        turn = torch.from_numpy(turned_places(batch.lengths, batch.ids.shape[1])).to(self.device)
        inside = torch.from_numpy(batch.inside).to(self.device)[:, :, None]
        from_start = self._read("start", vectors, 0)
        from_end = _taken(self._read("end", _taken(vectors, turn), 1), turn)
        read = torch.cat([from_start, from_end], dim=2)  # (rows, longest, 2 hidden)
        return dropped(read.masked_fill(~inside, 0), self.settings.drop_states, random)

    def _read(self, end: str, vectors: torch.Tensor, direction: int) -> torch.Tensor:
        """(rows, longest, hidden) of one direction."""
        states = self.states[direction].unsqueeze(1)  # (hidden or cell, 1, hidden)
        first, cell = states.expand(-1, len(vectors), -1).contiguous()
        read: torch.Tensor = self.directions[end](vectors, (first[None], cell[None]))[0]
        return read


def turned_places(lengths: np.ndarray, longest: int) -> np.ndarray:
    """(rows, longest) int64: where each place of a row is when the row is turned round, padding where it was.

    >>> turned_places(np.array([3, 1]), 4).tolist()
    [[2, 1, 0, 3], [0, 1, 2, 3]]
    """
    places = np.arange(longest)
    ends = lengths.astype(np.int64)[:, None]
    return np.where(places < ends, ends - 1 - places, places)


def _taken(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """The values (rows, longest, width) of each row at `places` (rows, longest)."""
    return values.gather(1, places[:, :, None].expand(-1, -1, values.shape[2]))
