"""TF-IDF features of words and of their pieces: runs of letters inside a word, its ends marked.

Words that differ share pieces: `CreateFile` and `FileHandle`, `economy` and `economics`. A text's pieces are
counted through its words, so only distinct words are ever cut, and a word that training never saw is still
read by its pieces. Pieces are weighed as words are (see `tailwright.data.text.tfidf`), each kind scaled to
length 1 a row, then pieces by a factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.dataset import arrow_strings
from tailwright.data.text.tfidf import TfIdf, TfIdfSettings
from tailwright.data.text.words import Texts, Tokens, tokenise

if TYPE_CHECKING:
    from tailwright.store import FolderReader, FolderWriter

ROWS_A_BLOCK = 16_384
MIN_TEXTS = 2  # a piece of one text alone links it to nothing


@dataclass(frozen=True)
class SubwordSettings:
    """How words are cut.

    | setting | meaning |
    |---|---|
    | `length` | letters of a piece; 0: words alone |
    | `weight` | of all pieces of a text beside all its words |
    | `min_count` | a word must be in that many texts to be a column |
    """

    length: int = 4
    weight: float = 0.7
    min_count: int = 1

    def __post_init__(self) -> None:
        if self.length != 0 and self.length < 2:
            raise ValueError(f"length must be 0 or >= 2, got {self.length}")
        if not self.weight > 0:
            raise ValueError(f"weight must be > 0, got {self.weight}")


@dataclass(frozen=True, eq=False)
class SubwordTfIdf:
    """Fitted words and pieces. Columns: the words, then the pieces.

    >>> features, matrix = SubwordTfIdf.fit_transform(["red hats", "hat"], SubwordSettings(length=3))
    >>> features.pieces.to_pylist(), matrix.shape
    (['<ha', 'hat'], (2, 5))
    >>> features.transform(["chat"]).indices.tolist()
    [4]
    """

    words: TfIdf
    pieces: pa.LargeStringArray  # (pieces,) sorted by code point
    idf: np.ndarray  # (pieces,) float64
    settings: SubwordSettings

    def __post_init__(self) -> None:
        object.__setattr__(self, "pieces", arrow_strings(self.pieces))
        if self.idf.shape != (len(self.pieces),) or not bool(np.all(np.isfinite(self.idf) & (self.idf > 0))):
            raise ValueError(f"idf must be {len(self.pieces)} finite numbers > 0")

    @staticmethod
    def fit_transform(texts: Texts, settings: SubwordSettings) -> tuple[SubwordTfIdf, sparse.csr_array]:
        """The features fitted to the texts, and their matrix."""
        words, matrix = TfIdf.fit_transform(texts, TfIdfSettings(min_count=settings.min_count))
        tokens = tokenise(texts)
        cut = [cut_word(word, settings.length) for word in tokens.vocabulary.to_pylist()]
        pieces = sorted({piece for word in cut for piece in word})
        counts = _piece_counts(tokens, cut, {piece: i for i, piece in enumerate(pieces)})
        holding = np.bincount(counts.indices, minlength=len(pieces))  # texts that hold each piece
        kept = np.flatnonzero(holding >= MIN_TEXTS)
        idf = np.log((1 + len(tokens)) / (1 + holding[kept])) + 1
        fitted = SubwordTfIdf(words, arrow_strings([pieces[i] for i in kept]), idf, settings)
        blocks = [slice(s, s + ROWS_A_BLOCK) for s in range(0, max(len(tokens), 1), ROWS_A_BLOCK)]
        found = [fitted._beside(matrix[rows], sparse.csr_array(counts[rows][:, kept])) for rows in blocks]
        return fitted, sparse.csr_array(sparse.vstack(found, format="csr"))

    def transform(self, texts: Texts) -> sparse.csr_array:
        """(texts, columns) CSR float32; words and pieces that are not columns are left out."""
        tokens = tokenise(texts)
        cut = [cut_word(word, self.settings.length) for word in tokens.vocabulary.to_pylist()]
        return self._beside(self.words.transform(texts), _piece_counts(tokens, cut, self._numbers))

    @property
    def columns(self) -> int:
        return len(self.words.vocabulary) + len(self.pieces)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {piece: number for number, piece in enumerate(self.pieces.to_pylist())}

    def _beside(self, words: sparse.csr_array, counts: sparse.csr_array) -> sparse.csr_array:
        """The matrix of words and, weighed, of the pieces that are counted in `counts`."""
        values = (1 + np.log(counts.data)) * self.idf.astype(np.float32)[counts.indices]
        row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        length = np.sqrt(np.bincount(row, values**2, minlength=counts.shape[0]))
        values *= (self.settings.weight / np.maximum(length, 1e-30)).astype(np.float32)[row]
        weighed = sparse.csr_array((values, counts.indices, counts.indptr), counts.shape)
        return sparse.csr_array(sparse.hstack([words, weighed], format="csr"))

    def save(self, folder: FolderWriter) -> None:
        """Writes words, pieces and frequencies."""
        self.words.save(folder.sub("words"))
        folder.json("subwords.json", asdict(self.settings))
        folder.strings("pieces", self.pieces)
        folder.array("piece_idf", self.idf)

    @staticmethod
    def load(folder: FolderReader) -> SubwordTfIdf:
        """What `save` wrote, checked."""
        from tailwright.store import DamagedFolderError

        words, settings = TfIdf.load(folder.sub("words")), folder.json("subwords.json")
        pieces = folder.strings("pieces")
        idf = folder.array("piece_idf", dtype=np.float64, shape=(len(pieces),))
        try:
            return SubwordTfIdf(words, pieces, idf, SubwordSettings(**settings))
        except (TypeError, ValueError) as error:
            raise DamagedFolderError(str(error), expected="saved sub-words", path=folder.path) from error


def cut_word(word: str, length: int) -> list[str]:
    """The pieces of a word, in order: every run of `length` letters of the word between < and >.

    >>> cut_word("hats", 3), cut_word("a", 4), cut_word("hats", 0)
    (['<ha', 'hat', 'ats', 'ts>'], ['<a>'], [])
    """
    if not length:
        return []
    marked = f"<{word}>"
    return [marked[i : i + length] for i in range(max(1, len(marked) - length + 1))]


def _piece_counts(tokens: Tokens, cut: Sequence[list[str]], numbers: dict[str, int]) -> sparse.csr_array:
    """(texts, pieces): how often each text holds each piece; `cut` are the pieces of each distinct word."""
    found = [[numbers[piece] for piece in word if piece in numbers] for word in cut]
    ends = np.concatenate([[0], np.cumsum([len(word) for word in found], dtype=np.int64)])
    columns = np.fromiter((number for word in found for number in word), dtype=np.int32, count=int(ends[-1]))
    by_word = sparse.csr_array((np.ones(len(columns), np.float32), columns, ends), (len(cut), len(numbers)))
    ones = np.ones(len(tokens.ids), np.float32)
    words = sparse.csr_array((ones, tokens.ids, tokens.offsets), (len(tokens), len(cut)))
    counts = sparse.csr_array(words @ by_word)
    counts.sort_indices()
    return counts
