"""`WordEmbedding`: the vectors of a batch's words, from a table of which only these rows learn."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tailwright.data.text.sequences import TokenBatch
from tailwright.encoders.dropout import Dropout
from tailwright.encoders.row_table import RowTable
from tailwright.kernels.csr import number_locally


class WordEmbedding(nn.Module):
    """Looks words up in a `RowTable` (ids, width); `drop` is the dropout on their vectors."""

    def __init__(self, table: np.ndarray, drop: float) -> None:
        super().__init__()
        self.table, self.dropout = RowTable(table), Dropout(drop)
        self._scratch = np.full(len(table), -1, dtype=np.int32)

    @property
    def width(self) -> int:
        return int(self.table.weight.shape[1])

    def forward(self, batch: TokenBatch, device: torch.device, longest: int = 0) -> torch.Tensor:
        """(rows, tokens, width): the vector of each word, zero behind a row; at least `longest` tokens."""
        inside = batch.inside
        # Padding is never looked up.
        distinct, local = number_locally(batch.ids[inside], self._scratch)
        places = torch.from_numpy(local.astype(np.int64)).to(device)
        vectors = self.dropout(functional.embedding(places, self.table(distinct).to(device)))
        shape = (len(batch), max(batch.ids.shape[1], longest), self.width)
        cells = tuple(torch.from_numpy(axis).to(device) for axis in np.nonzero(inside))
        return torch.zeros(shape, device=device).index_put(cells, vectors)
