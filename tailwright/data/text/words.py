r"""Texts to words: lower-case, then every run of `\w` characters, as Python's own `str` and `re` define them.

`split_words` is the definition; `tokenise` gives the same words for a whole column, numbered, from kernels
over the UTF-8 bytes. The kernels know characters only through a table made from `str.lower` and `re`, so they
follow the Unicode version of the Python that runs them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailwright.data.dataset import arrow_strings
from tailwright.data.text.blocks import joined, row_blocks, row_offsets, run_blocks
from tailwright.kernels.words import (
    CODE_POINTS,
    MULTIBYTE,
    count_words,
    index_words,
    learn_words,
    look_up_words,
    mark_context_letters,
    merge_words,
)

Texts: TypeAlias = Sequence[str] | pa.LargeStringArray
Splitter: TypeAlias = Callable[[str], list[str]]

_WORD = re.compile(r"\w+")

# The two letters whose lower case is not one letter of its own: U+0130 becomes two code points, and U+03A3
# one of two, by what stands around it. Rows that hold one are lower-cased by Python before the kernels.
_CONTEXT_LETTERS = "\u0130\u03a3"


def split_words(text: str) -> list[str]:
    r"""The lower-cased `\w+` words of one text.

    >>> split_words("Zero-waste HOME: l'été №1, snake_case")
    ['zero', 'waste', 'home', 'l', 'été', '1', 'snake_case']
    """
    return _WORD.findall(text.lower())


@dataclass(frozen=True, eq=False)
class Tokens:
    """The words of a column of texts: row i has the words `vocabulary[ids[offsets[i]:offsets[i + 1]]]`."""

    ids: np.ndarray  # (words,) int32; -1 is a word that the given vocabulary lacks
    offsets: np.ndarray  # (rows + 1,) int64
    vocabulary: pa.LargeStringArray

    def __len__(self) -> int:
        return len(self.offsets) - 1


class WordTable:
    """A fixed vocabulary, hashed once: word i of it has number i.

    >>> tokens = tokenise(["the red hat"], WordTable(["hat", "red"]))
    >>> tokens.ids.tolist()
    [-1, 1, 0]
    """

    def __init__(self, vocabulary: Texts) -> None:
        self.vocabulary = arrow_strings(vocabulary)
        self.bounds, self.content = text_buffers(self.vocabulary)
        self.slots, self.keys, twice = index_words(self.bounds, self.content)
        if twice >= 0:
            raise ValueError(f"the vocabulary has {self.vocabulary[twice].as_py()!r} twice")

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.vocabulary.to_pylist())}


def tokenise(
    texts: Texts,
    vocabulary: WordTable | None = None,
    *,
    words: Splitter = split_words,
    threads: int | None = None,
) -> Tokens:
    """The numbered words of each text, in text order; the same for any number of threads.

    Without a vocabulary it is the words found, sorted by code point. With one, other words get -1. Another
    splitter than `split_words` runs in Python, text by text.

    >>> tokens = tokenise(["Red hat, red shoe", ""])
    >>> tokens.vocabulary.to_pylist(), tokens.ids.tolist(), tokens.offsets.tolist()
    (['hat', 'red', 'shoe'], [1, 0, 1, 2], [0, 4, 4])
    """
    column = arrow_strings(texts)
    if words is not split_words:
        return _tokenise_in_python(column, vocabulary, words)
    column = _lower_in_context(column, threads)
    offsets, values = text_buffers(column)
    blocks = row_blocks(offsets, threads)
    if vocabulary is None:
        return _learn(offsets, values, blocks)
    tables = (*_letters(), vocabulary.slots, vocabulary.keys, vocabulary.bounds, vocabulary.content)
    found = run_blocks(lambda first, last: look_up_words(values, offsets, first, last, *tables), blocks)
    return Tokens(
        joined([ids for ids, _ in found]), row_offsets([ends for _, ends in found]), vocabulary.vocabulary
    )


def word_counts(tokens: Tokens, *, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(texts that hold each word, times each word occurs), both int64 in the order of the vocabulary."""
    words = len(tokens.vocabulary)
    found = run_blocks(
        lambda first, last: count_words(tokens.ids, tokens.offsets, first, last, words),
        row_blocks(tokens.offsets, threads),
    )
    documents, occurrences = np.sum(found, axis=0)
    return documents, occurrences


def text_buffers(texts: pa.LargeStringArray) -> tuple[np.ndarray, np.ndarray]:
    """(offsets (rows + 1,) int64, bytes) of a column, without a copy; a slice has its own offsets."""
    _, offsets, values = texts.buffers()
    return (
        _read_only(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        if len(texts)
        else frozen(np.zeros(1, np.int64)),
        _read_only(values, np.uint8),
    )


def _read_only(buffer: pa.Buffer | None, dtype: type) -> np.ndarray:
    if buffer is None or buffer.size == 0:
        return frozen(np.empty(0, dtype))
    return frozen(np.frombuffer(buffer, dtype))


def frozen(array: np.ndarray) -> np.ndarray:
    # Kernels are compiled for read-only or for writeable inputs; one kind for all saves compiling both.
    array.flags.writeable = False
    return array


@cache
def _letters() -> tuple[np.ndarray, np.ndarray]:
    """What the kernels know of characters: (table of bytes (256,) uint8, table of code points int32).

    An entry is the lower-cased character if that is a word character, 0 if it is not; bytes beyond ASCII
    are `MULTIBYTE`.
    """
    every = np.arange(CODE_POINTS, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    for letter in _CONTEXT_LETTERS:
        every = every.replace(letter, " ")
    lowered = every.lower()
    points = np.frombuffer(lowered.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int32)
    is_word = np.zeros(CODE_POINTS, dtype=bool)
    for run in _WORD.finditer(lowered):
        is_word[run.start() : run.end()] = True
    points[~is_word] = 0
    in_bytes = np.full(256, MULTIBYTE, dtype=np.uint8)
    in_bytes[:128] = points[:128]
    return frozen(in_bytes), frozen(points)


def _lower_in_context(texts: pa.LargeStringArray, threads: int | None) -> pa.LargeStringArray:
    """The same column with the rows that hold a letter of `_CONTEXT_LETTERS` lower-cased by Python."""
    offsets, values = text_buffers(texts)
    held = np.empty(len(texts), dtype=bool)
    found = run_blocks(
        lambda first, last: mark_context_letters(values, offsets, first, last, held),
        row_blocks(offsets, threads),
    )
    if not any(found):
        return texts
    mask = pa.array(held)
    lowered = [text.lower() for text in texts.filter(mask).to_pylist()]
    return pc.replace_with_mask(texts, mask, pa.array(lowered, type=pa.large_string()))


def _learn(offsets: np.ndarray, values: np.ndarray, blocks: Sequence[tuple[int, int]]) -> Tokens:
    letters = _letters()
    found = run_blocks(lambda first, last: learn_words(values, offsets, first, last, *letters), blocks)
    # Each block has numbered its words by itself: one table for all, then numbers in sorted order.
    _, _, keys, bounds, content = found[0]
    numbers = [np.arange(len(keys), dtype=np.int32)]
    for _, _, *others in found[1:]:
        keys, bounds, content, renumbered = merge_words(keys, bounds, content, *others)
        numbers.append(renumbered)
    unsorted = pa.LargeStringArray.from_buffers(
        len(bounds) - 1, pa.py_buffer(bounds), pa.py_buffer(content[: bounds[-1]])
    )
    order = pc.array_sort_indices(unsorted)  # by bytes, which for UTF-8 is by code point
    place = np.empty(len(order), dtype=np.int32)
    place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    ids = [place[number][block[0]] for number, block in zip(numbers, found, strict=True)]
    return Tokens(joined(ids), row_offsets([block[1] for block in found]), unsorted.take(order))


def _tokenise_in_python(texts: pa.LargeStringArray, vocabulary: WordTable | None, words: Splitter) -> Tokens:
    rows = [words(text) for text in texts.to_pylist()]
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    if vocabulary is None:
        vocabulary = WordTable(sorted({word for row in rows for word in row}))
    known = vocabulary.numbers
    ids = np.fromiter((known.get(word, -1) for row in rows for word in row), np.int32, int(offsets[-1]))
    return Tokens(ids, offsets, vocabulary.vocabulary)
