"""`WordEmbedding`: the vectors of a batch's words, out of a table of which only these rows learn."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from tailwright.data.text.sequences import TokenBatch
from tailwright.encoders.dropout import dropped
from tailwright.encoders.row_table import RowTable
from tailwright.kernels.bags import number_locally


class WordEmbedding:
    """A `RowTable` (ids, width) that is asked for words by id; `drop` is the dropout on their vectors."""

    def __init__(self, table: RowTable, drop: float) -> None:
        if not 0 <= drop < 1:
            raise ValueError(f"drop must be in [0, 1), got {drop}")
        self.table, self.drop = table, drop
        self._scratch = np.full(len(table.weight), -1, dtype=np.int32)

    @property
    def width(self) -> int:
        return int(self.table.weight.shape[1])

    def padded(
        self, batch: TokenBatch, random: np.random.Generator | None, device: torch.device, longest: int = 0
    ) -> torch.Tensor:
        """(rows, tokens, width): the vector of each word, zero behind a row; at least `longest` tokens.

        With `random`, the batch's stream, dropout is on and the rows of the table collect their gradient,
        unless it is frozen; without it nothing is learnt. Padding is never looked up.
        """
        inside = batch.inside
        vectors = self._of(batch.ids[inside], random, device)  # (all words of the batch, width)
        shape = (len(batch), max(batch.ids.shape[1], longest), self.width)
        places = tuple(torch.from_numpy(axis).to(device) for axis in np.nonzero(inside))
        return torch.zeros(shape, device=device).index_put(places, vectors)

    def _of(
        self, words: np.ndarray, random: np.random.Generator | None, device: torch.device
    ) -> torch.Tensor:
        """(len(words), width): the vectors of the ids in `words`, which may be there more than once."""
        distinct, local = number_locally(words, self._scratch)
        rows = torch.from_numpy(self.table.weight[distinct]) if random is None else self.table.rows(distinct)
        places = torch.from_numpy(local.astype(np.int64)).to(device)
        return dropped(functional.embedding(places, rows.to(device)), self.drop, random)
