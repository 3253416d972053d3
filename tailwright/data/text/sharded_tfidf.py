"""TF-IDF of texts that are larger than memory, fitted in two readings of them, a shard at a time.

The first counts the texts with each word; the second, which knows all words, weighs the rows and writes them
to files. Features and matrix are those of `TfIdf.fit_transform`, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from tailwright.data.dataset import arrow_strings, text_buffers
from tailwright.data.text.tfidf import TfIdf, TfIdfSettings, csr_of_rows, kept_words
from tailwright.data.text.words import Texts, tokenise, word_counts
from tailwright.kernels.room import Pile
from tailwright.kernels.word_tables import index_words, merge_words

SHARD = 64 << 20  # bytes of text


def fit_transform_in_shards(
    texts: Texts, settings: TfIdfSettings | None = None, *, threads: int | None = None
) -> tuple[TfIdf, sparse.csr_array]:
    """`TfIdf.fit_transform`, whose matrix lies in files."""
    column = arrow_strings(texts)
    known = _KnownWords()
    for shard in text_shards(column):
        known.add(shard, threads)
    fitted = known.fitted(len(column), settings or TfIdfSettings())
    ends = [np.zeros(1, np.int64)]
    with Pile(np.int32) as columns, Pile(np.float32) as weights:
        for shard in text_shards(column):
            indptr, of_shard, weights_of_shard = fitted.rows(shard, threads=threads)
            columns.add(of_shard)
            weights.add(weights_of_shard)
            ends.append(indptr[1:] + ends[-1][-1])
        rows = np.concatenate(ends), columns.array(), weights.array()
    return fitted, csr_of_rows(rows, len(fitted.vocabulary))


def text_shards(texts: pa.LargeStringArray) -> Iterator[pa.LargeStringArray]:
    """Slices of a column with about `SHARD` bytes of text each, at least one."""
    bounds, _ = text_buffers(texts)
    first = 0
    while first < len(texts):
        last = max(first + 1, int(np.searchsorted(bounds, bounds[first] + SHARD)))
        yield texts.slice(first, last - first)
        first = last
    if not len(texts):
        yield texts


class _KnownWords:
    """All words of the shards so far, in the order in which they came, and how often they occur."""

    def __init__(self) -> None:
        self._table = np.empty(0, np.uint64), np.zeros(1, np.int64), np.empty(0, np.uint8)
        self._documents = np.zeros(0, np.int64)
        self._occurrences = np.zeros(0, np.int64)

    def add(self, texts: pa.LargeStringArray, threads: int | None) -> None:
        tokens = tokenise(texts, threads=threads)
        bounds, content = (array.copy() for array in text_buffers(tokens.vocabulary))  # writeable: one type
        bounds -= bounds[0]
        _, keys, _ = index_words(bounds, content)
        *self._table, places = merge_words(*self._table, keys, bounds, content)
        for name, counts in zip(
            ("_documents", "_occurrences"), word_counts(tokens, threads=threads), strict=True
        ):
            grown = np.zeros(len(self._table[0]), np.int64)
            grown[: len(getattr(self, name))] = getattr(self, name)
            grown[places] += counts
            setattr(self, name, grown)

    def fitted(self, texts: int, settings: TfIdfSettings) -> TfIdf:
        """The features of so many texts."""
        _, bounds, content = self._table
        unsorted = pa.LargeStringArray.from_buffers(
            len(bounds) - 1, pa.py_buffer(bounds), pa.py_buffer(content[: bounds[-1]])
        )
        order = pc.array_sort_indices(unsorted)  # by bytes, which in UTF-8 means by code point
        places = order.to_numpy()
        documents, occurrences = self._documents[places], self._occurrences[places]
        kept, idf = kept_words(texts, documents, occurrences, settings)
        return TfIdf(unsorted.take(order).take(pa.array(kept)), idf, settings)
