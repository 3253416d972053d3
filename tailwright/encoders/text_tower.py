"""`TextTower`: the weighted sum of a text's word vectors, then a residual layer, and its positive part."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tailwright.encoders.bags import Bags
from tailwright.encoders.dropout import Dropout
from tailwright.encoders.embedding_bags import EmbeddingBags

ROWS_A_BLOCK = 8192


class TextTower(nn.Module):
    """dropout(relu(residual(weighted sum of a text's word vectors)))."""

    def __init__(self, words: EmbeddingBags, residual: nn.Module, dropout: float) -> None:
        super().__init__()
        self.words, self.residual, self.dropout = words, residual, Dropout(dropout)

    def forward(self, summed: torch.Tensor) -> torch.Tensor:
        """(texts, width), from the weighted sums of their words' vectors."""
        vectors: torch.Tensor = self.dropout(functional.relu(self.residual(summed)))
        return vectors

    @torch.no_grad()
    def vectors(self, bags: Bags) -> np.ndarray:
        """(texts, width) float32, of a tower in evaluation mode."""
        return in_blocks(self, bags, self.words.table.array)


@torch.no_grad()
def in_blocks(layer: nn.Module, bags: Bags, table: np.ndarray) -> np.ndarray:
    """(rows, width) float32: a layer, in evaluation mode, over the sums of rows of `table`."""
    blocks = [np.empty((0, table.shape[1]), dtype=np.float32)]
    for start in range(0, len(bags), ROWS_A_BLOCK):
        block = bags.slice(start, min(start + ROWS_A_BLOCK, len(bags)))
        blocks.append(layer(torch.from_numpy(block.sum(table))).numpy())
    return np.concatenate(blocks)
