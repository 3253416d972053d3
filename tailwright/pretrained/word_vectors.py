"""The vectors that words start from: `random`, a table in a package, or one in a text file.

The source is `random`, the name of a package's table (`tailwright.pretrained.word_packages`), or the path of
a text file with a word and its numbers per line, as of GloVe and word2vec, which may be gzipped. Words that
the table lacks are drawn.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from tailwright.data.text.vocabulary import WordVocabulary
from tailwright.errors import InputError, quoted
from tailwright.pretrained.word_packages import WORD_TABLES
from tailwright.streams import stream


def word_vectors(vocabulary: pa.LargeStringArray, width: int, source: str, *, seed: int = 0) -> np.ndarray:
    """(words, width) float32: the initial vectors of bags of words, of length 1.

    Half of the squared length comes from the table if that is narrower; the rest is drawn, so that words with
    equal vectors in the table can still be told apart.

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


def word_table(
    words: WordVocabulary,
    width: int,
    source: str,
    *,
    spread: float = 1.0,
    pad: bool = False,
    seed: int = 0,
) -> np.ndarray:
    """(ids, width) float32: the initial vector of each word id: padding is zero, the unknown word is drawn.

    Vectors from the table are not scaled; others are uniform up to `spread`. A table that is narrower than
    `width` is refused, as the drawn rest would outweigh it, unless it is to be filled up with `pad`.

    >>> table = word_table(WordVocabulary.build(["red hat"]), 3, "random")
    >>> table.shape, table[0].tolist()
    ((4, 3), [0.0, 0.0, 0.0])
    """
    drawn = stream(seed, "word-table").random((words.size, width), dtype=np.float32)
    table = np.float32(spread) * (2 * drawn - 1)
    if source != "random":
        places, known = _known(words.vocabulary, width, source)
        if known.shape[1] < width and not pad:
            raise InputError(
                f"{source} has word vectors of {known.shape[1]} numbers",
                expected=f"width={width}; set width={known.shape[1]}, or pad_vectors=true to draw the rest",
            )
        table[words.size - len(words.vocabulary) + places, : known.shape[1]] = known
    table[words.padding_id] = 0
    return table


def _known(vocabulary: pa.LargeStringArray, width: int, source: str) -> tuple[np.ndarray, np.ndarray]:
    """(places of the words that the source knows, their vectors of at most `width` numbers)."""
    wanted = {word: place for place, word in enumerate(vocabulary.to_pylist())}
    places, table = (
        WORD_TABLES[source](wanted) if source in WORD_TABLES else _text_table(Path(source), wanted)
    )
    if table.shape[1] > width:
        raise InputError(f"word vectors of {table.shape[1]} numbers", expected=f"at most width={width}")
    return places, table


def _text_table(path: Path, wanted: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
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
