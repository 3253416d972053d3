"""`Bags`: texts as sparse rows of word weights, and the weighted sums of their words' vectors.

`bag_sum` computes these sums in sparse kernels, forward and backward. `EmbeddingBags` gives it a matrix of
the batch's words alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import nn

from tailwright.data.pairs import CsrArrays
from tailwright.encoders.row_table import RowTable
from tailwright.kernels.csr import gather_rows, number_locally, sum_rows, transposed


@dataclass(frozen=True, eq=False)
class Bags:
    """Rows of (word, weight): the arrays of a CSR matrix in the types that the kernels take."""

    indptr: np.ndarray  # (rows + 1,) int64
    words: np.ndarray  # (stored,) int32
    weights: np.ndarray  # (stored,) float32

    @staticmethod
    def of(matrix: sparse.csr_array) -> Bags:
        """The rows of a sparse matrix."""
        return Bags(
            np.require(matrix.indptr, np.int64, ["C", "W"]),
            np.require(matrix.indices, np.int32, ["C", "W"]),
            np.require(matrix.data, np.float32, ["C", "W"]),
        )

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def arrays(self) -> CsrArrays:
        return self.indptr, self.words, self.weights

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def take(self, rows: np.ndarray) -> Bags:
        """The bags at `rows`, in that order."""
        return Bags(*gather_rows(*self.arrays, np.asarray(rows, dtype=np.int64)))

    def slice(self, start: int, end: int) -> Bags:
        """The bags from `start` up to `end`, without a copy of their words."""
        first, last = self.indptr[start], self.indptr[end]
        return Bags(self.indptr[start : end + 1] - first, self.words[first:last], self.weights[first:last])

    def sum(self, table: np.ndarray) -> np.ndarray:
        """(rows, width) float32: each bag's weighted sum of rows of `table` (words, width); no gradient."""
        out = np.empty((len(self), table.shape[1]), dtype=np.float32)
        sum_rows(*self.arrays, table, out)
        return out


def share_words(bags: Sequence[Bags], scratch: np.ndarray) -> tuple[np.ndarray, list[Bags]]:
    """The distinct words of all `bags`, sorted, and the bags with each word replaced by its place among them.

    `scratch` is an int32 array over all words, filled with -1 before and after.
    """
    words, places = number_locally(np.concatenate([some.words for some in bags]), scratch)
    ends = np.cumsum([len(some.words) for some in bags])
    numbered = np.split(places, ends[:-1])
    return words, [Bags(b.indptr, w, b.weights) for b, w in zip(bags, numbered, strict=True)]


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
        by_word = Bags(*transposed(*bags.arrays, context.words))
        return torch.from_numpy(by_word.sum(gradients[0].contiguous().numpy())), None
