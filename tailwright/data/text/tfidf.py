r"""TF-IDF features: the weight of each word of a text, by its count there and its rarity elsewhere.

Equal to scikit-learn's `TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+")`, column by column. With
n texts, d of them with a word, and c occurrences of it in a text:

    idf = ln((1 + n) / (1 + d)) + 1        weight = (1 + ln c) idf, then each row is scaled to length 1
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.dataset import arrow_strings
from tailwright.data.pairs import CsrArrays
from tailwright.data.text.blocks import joined_rows, row_blocks
from tailwright.data.text.words import Texts, Tokens, WordTable, readable, tokenise, word_counts
from tailwright.kernels.blocks import run_blocks
from tailwright.kernels.text_rows import weigh_words
from tailwright.kernels.tfidf import weigh_rows
from tailwright.settings import Settings, setting
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter


@dataclass(frozen=True)
class TfIdfSettings(Settings):
    """Which words become columns, and how their occurrences count."""

    min_count: int = setting(1, "texts that a word must occur in", least=1)
    max_features: int | None = setting(
        None, "most columns, kept for the words that occur most often, ties in sorted order", least=1
    )
    sublinear: bool = setting(True, "a word that occurs c times counts 1 + ln c, else c")


@dataclass(frozen=True, eq=False)
class TfIdf:
    """A fitted vocabulary with its inverse document frequencies.

    >>> features, matrix = TfIdf.fit_transform(["red hat", "red red shoe"])
    >>> features.vocabulary.to_pylist(), matrix.shape
    (['hat', 'red', 'shoe'], (2, 3))
    >>> features.transform(["HAT?", "unseen"]).toarray().tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """

    vocabulary: pa.LargeStringArray  # (columns,) sorted by code point
    idf: np.ndarray  # (columns,) float64
    settings: TfIdfSettings = TfIdfSettings()

    def __post_init__(self) -> None:
        object.__setattr__(self, "vocabulary", arrow_strings(self.vocabulary))
        idf = np.array(self.idf, dtype=np.float64)
        if idf.shape != (len(self.vocabulary),):
            raise ValueError(f"idf has shape {idf.shape}, expected ({len(self.vocabulary)},)")
        if not bool(np.all(np.isfinite(idf) & (idf > 0))):
            raise ValueError("idf must be finite and > 0")
        idf.flags.writeable = False
        object.__setattr__(self, "idf", idf)

    @staticmethod
    def fit(texts: Texts, settings: TfIdfSettings | None = None) -> TfIdf:
        """The columns and inverse document frequencies of these texts."""
        return _fitted(tokenise(texts), settings, None)[0]

    @staticmethod
    def fit_transform(
        texts: Texts, settings: TfIdfSettings | None = None, *, threads: int | None = None
    ) -> tuple[TfIdf, sparse.csr_array]:
        """`fit`, and the matrix of the same texts; they are tokenised only once."""
        fitted, tokens = _fitted(tokenise(texts, threads=threads), settings, threads)
        return fitted, fitted._weighted(tokens, threads)

    def transform(self, texts: Texts, *, threads: int | None = None) -> sparse.csr_array:
        """(texts, columns) CSR float32 with sorted indices; a text without a known word is an empty row."""
        return csr_of_rows(self.rows(texts, threads=threads), len(self.vocabulary))

    def rows(self, texts: Texts, *, threads: int | None = None) -> CsrArrays:
        """The same as (indptr, columns, weights), which kernels take."""
        offsets, values = readable(texts, threads)
        tables: tuple[Any, ...] = (*self.table.reading, self.idf, self.settings.sublinear)
        return joined_rows(
            run_blocks(
                lambda first, last: weigh_words(values, offsets, first, last, *tables),
                row_blocks(offsets, threads),
            )
        )

    def knows(self, texts: Texts) -> np.ndarray:
        """(texts,) bool: whether a text has a word with a column."""
        return np.asarray(np.diff(self.rows(texts)[0]) > 0)

    def with_new_words(self, texts: Texts, min_count: int = 1) -> tuple[TfIdf, np.ndarray]:
        """The features with a column for each new word of `texts`, and the places of the old columns in them.

        A new word must be in `min_count` of these texts. Those that the others were counted in are gone, so
        it is taken to be as rare as the rarest known word.

        >>> grown, places = TfIdf.fit(["red hat"]).with_new_words(["a new hat"])
        >>> grown.vocabulary.to_pylist(), places.tolist()
        (['a', 'hat', 'new', 'red'], [1, 3])
        """
        tokens = tokenise(texts)
        documents, _ = word_counts(tokens)
        enough = tokens.vocabulary.filter(pa.array(documents >= min_count))
        vocabulary, places = with_inserted(self.vocabulary, enough)
        return TfIdf(vocabulary, inserted_idf(self.idf, places, len(vocabulary)), self.settings), places

    def save(self, folder: FolderWriter) -> None:
        folder.json("tfidf.json", asdict(self.settings))
        folder.strings("vocabulary", self.vocabulary)
        folder.array("idf", self.idf)

    @staticmethod
    def load(folder: FolderReader) -> TfIdf:
        settings = folder.json("tfidf.json")
        vocabulary = folder.strings("vocabulary")
        idf = folder.array("idf", dtype=np.float64, shape=(None,))
        try:
            fitted = TfIdf(vocabulary, idf, TfIdfSettings(**settings))
            _ = fitted.table
        except (TypeError, ValueError) as error:
            raise DamagedFolderError(str(error), expected="a saved TF-IDF", path=folder.path) from error
        return fitted

    @cached_property
    def table(self) -> WordTable:
        """The vocabulary, ready to be looked up."""
        return WordTable(self.vocabulary)

    def _weighted(self, tokens: Tokens, threads: int | None) -> sparse.csr_array:
        """The matrix of these tokens, whose ids are columns."""
        ids, offsets = tokens.ids, tokens.offsets
        blocks = run_blocks(
            lambda first, last: weigh_rows(ids, offsets, first, last, self.idf, self.settings.sublinear),
            row_blocks(offsets, threads),
        )
        return csr_of_rows(joined_rows(blocks), len(self.vocabulary))


def csr_of_rows(rows: CsrArrays, width: int) -> sparse.csr_array:
    """The matrix of rows whose columns ascend, of 32-bit indices where they suffice."""
    indptr, columns, weights = rows
    index_type = np.int32 if indptr[-1] < 2**31 else np.int64
    matrix = sparse.csr_array(
        (weights, columns.astype(index_type, copy=False), indptr.astype(index_type)),
        shape=(len(indptr) - 1, width),
    )
    matrix.has_canonical_format = True
    return matrix


def _fitted(tokens: Tokens, settings: TfIdfSettings | None, threads: int | None) -> tuple[TfIdf, Tokens]:
    """The features fitted to the tokens, and the tokens with columns as ids (-1: no column)."""
    settings = settings or TfIdfSettings()
    documents, occurrences = word_counts(tokens, threads=threads)
    kept, idf = kept_words(len(tokens), documents, occurrences, settings)
    if len(kept) < len(documents):
        columns = np.full(len(documents), -1, dtype=np.int32)
        columns[kept] = np.arange(len(kept), dtype=np.int32)
        vocabulary = tokens.vocabulary.take(pa.array(kept))
        tokens = Tokens(columns[tokens.ids], tokens.offsets, vocabulary)
    return TfIdf(tokens.vocabulary, idf, settings), tokens


def kept_words(
    texts: int, documents: np.ndarray, occurrences: np.ndarray, settings: TfIdfSettings
) -> tuple[np.ndarray, np.ndarray]:
    """(the words that get a column, their inverse document frequencies), by the counts of sorted words."""
    kept = np.flatnonzero(documents >= settings.min_count)
    if settings.max_features is not None and len(kept) > settings.max_features:
        by_occurrences = np.argsort(-occurrences[kept], kind="stable")
        kept = np.sort(kept[by_occurrences[: settings.max_features]])
    return kept, np.log((1 + texts) / (1 + documents[kept])) + 1


def with_inserted(
    known: pa.LargeStringArray, more: pa.LargeStringArray
) -> tuple[pa.LargeStringArray, np.ndarray]:
    """Sorted strings with those of `more` that are new, and the places of the known ones, (known,) int64."""
    import pyarrow.compute as pc  # heavy, and no answer needs it

    new = more.filter(pc.invert(pc.is_in(more, value_set=known)))
    both = pa.concat_arrays([known, new])
    order = pc.sort_indices(both).to_numpy()
    places = np.empty(len(both), dtype=np.int64)
    places[order] = np.arange(len(both))
    return both.take(pa.array(order)), places[: len(known)]


def inserted_idf(idf: np.ndarray, places: np.ndarray, columns: int) -> np.ndarray:
    """(columns,) float64: the frequencies at their new places, the largest of them everywhere else."""
    grown = np.full(columns, idf.max(initial=1.0))
    grown[places] = idf
    return grown
