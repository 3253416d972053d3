"""`EmbeddingBags`: word vectors as a torch module, and the weighted sums of bags with gradients.

`bag_sum` computes these sums in sparse kernels, forward and backward. `EmbeddingBags` gives it a matrix of
the batch's words alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from tailwright.encoders.bags import Bags, share_words
from tailwright.encoders.row_table import RowTable


class EmbeddingBags(nn.Module):
    """Word vectors, and weighted sums of them."""

    def __init__(self, vectors: np.ndarray) -> None:
        """`vectors` (words, width) float32 is what the words start at."""
        super().__init__()
        self.table = RowTable(vectors)
        self._scratch = np.full(len(vectors), -1, dtype=np.int32)

    def forward(self, *bags: Bags) -> tuple[torch.Tensor, ...]:
        """(rows, width) for each of `bags`. In training it is called once a batch, with all its bags."""
        words, numbered = share_words(bags, self._scratch)
        vectors = self.table(words)
        return tuple(bag_sum(vectors, some) for some in numbered)


def bag_sum(table: torch.Tensor, bags: Bags) -> torch.Tensor:
    """(rows, width): each bag's weighted sum of rows of `table` (words, width), with a gradient for it."""
    result: torch.Tensor = _BagSum.apply(table, bags)  # type: ignore[no-untyped-call]
    return result


class _BagSum(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, table: torch.Tensor, bags: Bags) -> torch.Tensor:
        context.bags, context.words = bags, table.shape[0]
        return torch.from_numpy(bags.sum(table.detach().numpy()))

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        bags: Bags = context.bags
        by_word = bags.transposed(context.words)
        return torch.from_numpy(by_word.sum(gradients[0].contiguous().numpy())), None
