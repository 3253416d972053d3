"""`Bags`: texts as sparse rows of word weights.

The vector of a text is the weighted sum of its words' vectors: here without a gradient, in `embedding_bags`
as a torch module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tailwright.kernels.csr import gather_rows, number_locally, sum_rows


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
    def nbytes(self) -> int:
        return self.indptr.nbytes + self.words.nbytes + self.weights.nbytes

    def take(self, rows: np.ndarray) -> Bags:
        """The bags at `rows`, in that order."""
        return Bags(*gather_rows(self.indptr, self.words, self.weights, np.asarray(rows, dtype=np.int64)))

    def slice(self, start: int, end: int) -> Bags:
        """The bags from `start` up to `end`, without a copy of their words."""
        first, last = self.indptr[start], self.indptr[end]
        return Bags(self.indptr[start : end + 1] - first, self.words[first:last], self.weights[first:last])

    def sum(self, table: np.ndarray) -> np.ndarray:
        """(rows, width) float32: each bag's weighted sum of rows of `table` (words, width); no gradient."""
        out = np.empty((len(self), table.shape[1]), dtype=np.float32)
        sum_rows(self.indptr, self.words, self.weights, table, out)
        return out


def share_words(bags: Sequence[Bags], scratch: np.ndarray) -> tuple[np.ndarray, list[Bags]]:
    """The distinct words of all `bags`, sorted, and the bags with each word replaced by its place among them.

    `scratch` is an int32 array over all words, filled with -1 before and after.
    """
    words, places = number_locally(np.concatenate([some.words for some in bags]), scratch)
    ends = np.cumsum([len(some.words) for some in bags])
    numbered = np.split(places, ends[:-1])
    return words, [Bags(b.indptr, w, b.weights) for b, w in zip(bags, numbered, strict=True)]
