"""`Bags`: texts as sparse rows of word weights, and the weighted sums of their words' vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tailwright.data.pairs import CsrArrays
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

    def transposed(self, words: int) -> Bags:
        """The rows of each of `words` words with its weights in them, as a bag of rows."""
        return Bags(*transposed(*self.arrays, words))


def joined(bags: Sequence[Bags]) -> Bags:
    """All bags, one after the other."""
    ends = np.cumsum([0, *(len(some.words) for some in bags)])
    starts = [some.indptr[:-1] + end for some, end in zip(bags, ends[:-1], strict=True)]
    words, weights = (np.concatenate([getattr(some, what) for some in bags]) for what in ("words", "weights"))
    return Bags(np.concatenate([*starts, ends[-1:]]), words, weights)


def share_words(bags: Sequence[Bags], scratch: np.ndarray) -> tuple[np.ndarray, list[Bags]]:
    """The distinct words of all `bags`, sorted, and the bags with each word replaced by its place among them.

    `scratch` is an int32 array over all words, filled with -1 before and after.
    """
    words, places = number_locally(np.concatenate([some.words for some in bags]), scratch)
    ends = np.cumsum([len(some.words) for some in bags])
    numbered = np.split(places, ends[:-1])
    return words, [Bags(b.indptr, w, b.weights) for b, w in zip(bags, numbered, strict=True)]
