"""TF-IDF features of words and of their pieces: runs of letters inside a word whose ends are marked.

Different words share pieces: `CreateFile` and `FileHandle`, `economy` and `economics`. A text's pieces are
counted through its words, so only distinct words are ever cut, and a word that training never saw is still
read by its pieces. Pieces are weighed as words are (see `tailwright.data.text.tfidf`). In each row both kinds
are scaled to length 1, then the pieces are multiplied by a factor.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numba
import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.code_version import code_version
from tailwright.data.dataset import arrow_strings, frozen
from tailwright.data.pairs import CsrArrays
from tailwright.data.text.blocks import joined_rows, row_blocks
from tailwright.data.text.tfidf import TfIdf, TfIdfSettings, csr_of_rows, inserted_idf, with_inserted
from tailwright.data.text.words import Texts, Tokens, WordTable, readable, tokenise
from tailwright.errors import InputError
from tailwright.kernels.blocks import run_blocks
from tailwright.kernels.text_rows import weigh_words_and_pieces
from tailwright.kernels.tfidf import pieces_of_rows
from tailwright.kernels.words import count_words
from tailwright.settings import Settings, setting, settings_from
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.store.shared import content_key, shared

Pieces: TypeAlias = tuple[np.ndarray, np.ndarray]  # where each word's pieces end, their numbers end to end

ROWS_A_BLOCK = 4096
SAMPLE = 8  # of so many texts one tells how large the features of all will be
MIN_TEXTS = 2  # a piece that only one text has links it to nothing


@dataclass(frozen=True)
class SubwordSettings(Settings):
    """How words are cut into pieces."""

    length: int = setting(4, "letters of a piece, at least 2; 0: words alone", most=65_536)
    weight: float = setting(
        0.7, "weight of all pieces of a text beside all its words", above=0, most=1_000_000
    )
    min_count: int = setting(1, "texts that a word must be in to be a column", least=1)

    def check(self) -> None:
        if self.length != 0 and self.length < 2:
            raise ValueError(f"length must be 0 or >= 2, got {self.length}")


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
        object.__setattr__(self, "idf", frozen(self.idf.copy()))  # as that of words: one type for the kernel

    @staticmethod
    def fit_transform(texts: Texts, settings: SubwordSettings) -> tuple[SubwordTfIdf, sparse.csr_array]:
        """The features fitted to the texts, and their matrix."""
        words = TfIdf.fit(texts, TfIdfSettings(min_count=settings.min_count))
        tokens = tokenise(texts)
        of_words, pieces = _cut(tokens.vocabulary, settings.length)
        holding = _texts_that_hold(tokens, of_words, len(pieces))
        kept = np.flatnonzero(holding >= MIN_TEXTS)
        idf = np.log((1 + len(tokens)) / (1 + holding[kept])) + 1
        fitted = SubwordTfIdf(words, arrow_strings([pieces[i] for i in kept]), idf, settings)
        return fitted, fitted.transform(texts)

    def transform(self, texts: Texts) -> sparse.csr_array:
        """(texts, columns) CSR float32; words and pieces that have no column are left out."""
        return csr_of_rows(self.rows(texts), self.columns)

    def rows(self, texts: Texts) -> CsrArrays:
        """The same as (indptr, columns, weights), which kernels take."""
        offsets, values = readable(texts)
        words, settings = self.words, self.settings
        tables: tuple[Any, ...] = (
            *(*words.table.reading, words.idf, words.settings.sublinear),
            *(*self._piece_table.index, self.idf, settings.length, np.float32(settings.weight)),
        )

        def weigh(first: int, last: int) -> CsrArrays:
            block: CsrArrays = weigh_words_and_pieces(values, offsets, first, last, *tables)
            return block

        return joined_rows(block for turn in _turns(offsets) for block in run_blocks(weigh, turn))

    def knows(self, texts: Texts) -> np.ndarray:
        """(texts,) bool: whether a text has a word or a piece with a column."""
        return np.asarray(np.diff(self.rows(texts)[0]) > 0)

    def with_new_words(
        self, texts: Texts, min_count: int = 1, min_texts: int = 1
    ) -> tuple[SubwordTfIdf, np.ndarray]:
        """The features with columns for new words and pieces of `texts`, and the places of the old columns.

        As in `TfIdf.with_new_words`. A piece must be in `min_texts` of the texts and in no known word: a text
        of known words stays what it was.
        """
        words, places = self.words.with_new_words(texts, min_count)
        tokens = tokenise(texts)
        of_words, cut = _cut(tokens.vocabulary, self.settings.length)
        enough = np.flatnonzero(_texts_that_hold(tokens, of_words, len(cut)) >= min_texts)
        known = set(_cut(self.words.vocabulary, self.settings.length)[1])
        new = [cut[i] for i in enough if cut[i] not in known]
        pieces, piece_places = with_inserted(self.pieces, arrow_strings(new))
        idf = inserted_idf(self.idf, piece_places, len(pieces))
        grown = SubwordTfIdf(words, pieces, idf, self.settings)
        return grown, np.concatenate([places, len(words.vocabulary) + piece_places])

    @property
    def columns(self) -> int:
        return len(self.words.vocabulary) + len(self.pieces)

    @cached_property
    def _piece_table(self) -> WordTable:
        return WordTable(self.pieces)

    def save(self, folder: FolderWriter) -> None:
        """Writes words, pieces and frequencies."""
        self.words.save(folder.sub("words"))
        folder.json("subwords.json", asdict(self.settings))
        folder.strings("pieces", self.pieces)
        folder.array("piece_idf", self.idf)

    @staticmethod
    def load(folder: FolderReader) -> SubwordTfIdf:
        """Read what `save` wrote; damage is an InputError."""
        words, settings = TfIdf.load(folder.sub("words")), folder.json("subwords.json")
        pieces = folder.strings("pieces")
        idf = folder.array("piece_idf", dtype=np.float64, shape=(len(pieces),))
        try:
            fitted = SubwordTfIdf(words, pieces, idf, settings_from(SubwordSettings, dict(settings)))
            _ = fitted._piece_table
            return fitted
        except (TypeError, ValueError, InputError) as error:
            raise DamagedFolderError(str(error), expected="saved sub-words", path=folder.path) from error


def shared_subwords(texts: Texts, settings: SubwordSettings) -> tuple[SubwordTfIdf, sparse.csr_array]:
    """`SubwordTfIdf.fit_transform`, once for all trainings that share their work (`store.shared`)."""
    rows = arrow_strings(texts)

    def save(folder: FolderWriter, fitted: tuple[SubwordTfIdf, sparse.csr_array]) -> None:
        features, matrix = fitted
        features.save(folder.sub("features"))
        folder.csr("matrix", matrix)

    def load(folder: FolderReader) -> tuple[SubwordTfIdf, sparse.csr_array]:
        features = SubwordTfIdf.load(folder.sub("features"))
        return features, folder.csr("matrix", dtype=np.float32, shape=(len(rows), features.columns))

    return shared(
        "subwords",
        lambda: content_key(code_version(["tailwright.encoders.subwords"]), repr(settings), rows),
        lambda: SubwordTfIdf.fit_transform(rows, settings),
        save,
        load,
    )


def cut_word(word: str, length: int) -> list[str]:
    """The pieces of a word, in order: every run of `length` letters of the word put between < and >.

    >>> cut_word("hats", 3), cut_word("a", 4), cut_word("hats", 0)
    (['<ha', 'hat', 'ats', 'ts>'], ['<a>'], [])
    """
    if not length:
        return []
    marked = f"<{word}>"
    return [marked[i : i + length] for i in range(max(1, len(marked) - length + 1))]


def _cut(words: pa.LargeStringArray, length: int) -> tuple[Pieces, list[str]]:
    """The pieces of each word, numbered in sorted order, and the distinct pieces in that order."""
    numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))  # in the order of first occurrence
    ends, occurrences = [0], array("i")
    for word in words.to_pylist():
        occurrences.extend(numbers[piece] for piece in cut_word(word, length))
        ends.append(len(occurrences))
    pieces = sorted(numbers)
    place = np.empty(len(pieces), dtype=np.int32)
    place[[numbers[piece] for piece in pieces]] = np.arange(len(pieces), dtype=np.int32)
    return (np.array(ends, dtype=np.int64), place[np.array(occurrences, dtype=np.int32)]), pieces


def _texts_that_hold(tokens: Tokens, of_words: Pieces, pieces: int) -> np.ndarray:
    """(pieces,) int64: how many texts hold each piece."""

    def count(first: int, last: int) -> np.ndarray:
        ids, offsets = pieces_of_rows(tokens.ids, tokens.offsets, first, last, *of_words)
        holding: np.ndarray = count_words(ids, offsets, 0, last - first, pieces)[0]
        return holding

    return np.sum(run_blocks(count, row_blocks(tokens.offsets)), axis=0)


def _turns(offsets: np.ndarray) -> Iterator[list[tuple[int, int]]]:
    """(first, last) of blocks of rows, a block a thread, in turns of so many rows that memory stays small."""
    rows = len(offsets) - 1
    turn = ROWS_A_BLOCK * (numba.get_num_threads() if rows > ROWS_A_BLOCK else 1)
    for start in range(0, max(rows, 1), turn):
        blocks = row_blocks(offsets[start : start + turn + 1])
        yield [(start + first, start + last) for first, last in blocks]


def expected_size(texts: pa.LargeStringArray, settings: SubwordSettings) -> tuple[int, float]:
    """The columns of these texts' features and the bytes of their matrix, by an eighth of the texts.

    Columns grow by a power of the number of texts (Heaps' law), which a sixteenth of them tells. The power
    falls as texts are added, so there may be a third fewer columns; there are hardly ever more.
    """
    sizes = []
    for step in (2 * SAMPLE, SAMPLE):
        fitted, matrix = SubwordTfIdf.fit_transform(
            texts.take(pa.array(np.arange(0, len(texts), step))), settings
        )
        sizes.append(fitted.columns)
    growth = max(sizes[1], 1) / max(sizes[0], 1)
    columns = int(sizes[1] * growth ** np.log2(SAMPLE))
    return columns, 8.0 * (matrix.nnz * len(texts) / max(matrix.shape[0], 1) + len(texts))
