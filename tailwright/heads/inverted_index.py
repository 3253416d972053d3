"""An inverted index: the columns of a sparse matrix with the largest products with sparse rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from tailwright.data.pairs import CsrArrays, csr_arrays
from tailwright.evaluation.ranking import TopK
from tailwright.kernels.blocks import run_rows
from tailwright.kernels.matching import nearest_columns

FEWEST_ROWS = 4  # of a thread: with fewer, it costs more than it saves


class InvertedIndex:
    """The columns of `by_word` (words, columns), whose stored values must be > 0.

    >>> index = InvertedIndex(sparse.csr_array(np.array([[1, 0, 0.5], [0, 1, 0.5]], dtype=np.float32)))
    >>> rows = sparse.csr_array(np.array([[1, 0.25]], dtype=np.float32))
    >>> index.top_k(csr_arrays(rows), 2).ids.tolist()
    [[0, 2]]
    """

    def __init__(self, by_word: sparse.csr_array) -> None:
        if by_word.nnz and not by_word.data.min() > 0:
            raise ValueError("a stored value is not > 0")
        self.by_word = by_word

    def top_k(self, rows: CsrArrays, k: int) -> TopK:
        """The k columns with the largest product with each of `rows` (rows, words), whose values are > 0.

        Best first, equal products by smaller column; a row that fewer than k columns share a word with is
        padded.
        """
        count = len(rows[0]) - 1
        ids = np.full((count, k), -1, dtype=np.int32)
        scores = np.full((count, k), -np.inf, dtype=np.float32)
        if not self.by_word.nnz:
            return TopK(ids, scores)

        def search(first: int, last: int) -> None:
            arguments: tuple[Any, ...] = (*rows, *self._arrays, first, last, ids, scores)
            nearest_columns(*arguments)

        run_rows(search, count, FEWEST_ROWS)
        return TopK(ids, scores)

    @cached_property
    def _arrays(self) -> tuple[Any, ...]:
        """What the kernel takes of the index."""
        by_column = self.by_word.T.tocsr()
        entries = np.empty((by_column.nnz, 2), dtype=np.int32)
        entries[:, 0] = by_column.indices
        entries.view(np.float32)[:, 1] = by_column.data
        flat = entries.ravel()
        squares = np.zeros(by_column.shape[0])
        np.add.at(squares, self.by_word.indices, np.square(self.by_word.data, dtype=np.float64))
        largest = np.zeros(self.by_word.shape[0], dtype=np.float32)
        np.maximum.at(
            largest, np.repeat(np.arange(len(largest)), np.diff(self.by_word.indptr)), self.by_word.data
        )
        return (
            *csr_arrays(self.by_word),
            *(by_column.indptr.astype(np.int64), flat, flat.view(np.float32)),
            *(largest, float(np.sqrt(squares.max()))),
        )
