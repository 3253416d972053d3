r"""Texts to words: those that classifiers read, and those that editors of texts may replace.

Classifiers read every run of `\w` characters in lower case. `split_words` is the definition; `tokenise` gives
the same words for a whole column, numbered, by kernels over the UTF-8 bytes. `word_spans` defines where the
words of a text to be edited are; the kernels in `kernels/spans.py` follow it.

Kernels know characters only by tables made with Python's own `str`, `re` and `unicodedata`, so they follow
the Unicode version of the running Python.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from tailwright.data.dataset import arrow_strings, frozen, text_buffers
from tailwright.data.text.blocks import joined, row_blocks, row_offsets
from tailwright.kernels.blocks import run_blocks
from tailwright.kernels.spans import JOINER, LETTER, MARK, OTHER, SPACE, count_spaced_words
from tailwright.kernels.word_tables import index_words, merge_words
from tailwright.kernels.words import (
    CODE_POINTS,
    MULTIBYTE,
    count_words,
    learn_words,
    look_up_words,
    mark_context_letters,
)

Texts: TypeAlias = Sequence[str] | pa.LargeStringArray

_WORD = re.compile(r"\w+")

# No character from here on is a word character, so the table of letters is made in a quarter of the time.
LETTERS_END = 0x40000

# The two letters without a single lower case: U+0130 becomes two code points, and U+03A3 one of two, by
# context. Rows with one of them are lower-cased by Python before the kernels see them.
_CONTEXT_LETTERS = "\u0130\u03a3"

# Apostrophes, hyphen, and the invisible joiners of letters in Persian and in Indic scripts.
JOINERS = "'\u2019-\u200c\u200d"


def split_words(text: str) -> list[str]:
    r"""The lower-cased `\w+` words of one text.

    >>> split_words("Zero-waste HOME: l'été №1, snake_case")
    ['zero', 'waste', 'home', 'l', 'été', '1', 'snake_case']
    """
    return _WORD.findall(text.lower())


def word_segments(text: str) -> list[tuple[str, list[str]]]:
    """A text in segments, each with the words that it is read as: none for what stands between words.

    >>> word_segments("Zero-waste!")
    [('Zero', ['zero']), ('-', []), ('waste', ['waste']), ('!', [])]
    """
    segments, done = [], 0
    for match in _WORD.finditer(text):
        segments += [(text[done : match.start()], []), (match[0], split_words(match[0]))]
        done = match.end()
    return [segment for segment in (*segments, (text[done:], [])) if segment[0]]


@dataclass(frozen=True, eq=False)
class Tokens:
    """The words of a column of texts: row i has the words `vocabulary[ids[offsets[i]:offsets[i + 1]]]`."""

    ids: np.ndarray  # (words,) int32; -1 for a word that is not in the vocabulary
    offsets: np.ndarray  # (rows + 1,) int64
    vocabulary: pa.LargeStringArray

    def __len__(self) -> int:
        return len(self.offsets) - 1


class WordTable:
    """A fixed vocabulary, hashed once: its word i has number i.

    >>> tokens = tokenise(["the red hat"], WordTable(["hat", "red"]))
    >>> tokens.ids.tolist()
    [-1, 1, 0]
    """

    def __init__(self, vocabulary: Texts) -> None:
        self.vocabulary = arrow_strings(vocabulary)
        # Copies, which are writeable like the words of a text: one type for the kernels.
        self.bounds, self.content = (array.copy() for array in text_buffers(self.vocabulary))
        self.slots, self.keys, twice = index_words(self.bounds, self.content)
        if twice >= 0:
            raise ValueError(f"the vocabulary has {self.vocabulary[twice].as_py()!r} twice")

    @property
    def index(self) -> tuple[np.ndarray, ...]:
        """The table as the kernels take it."""
        return self.slots, self.keys, self.bounds, self.content

    @property
    def reading(self) -> tuple[np.ndarray, ...]:
        """What the kernels need to read texts: the tables of letters, then that of words."""
        return *_letters(), *self.index


def tokenise(texts: Texts, vocabulary: WordTable | None = None, *, threads: int | None = None) -> Tokens:
    """The numbered words of each text, in order; the same for any number of threads.

    Without a given vocabulary, it is the set of all words, sorted by code point. Words that a given
    vocabulary lacks get -1.

    >>> tokens = tokenise(["Red hat, red shoe", ""])
    >>> tokens.vocabulary.to_pylist(), tokens.ids.tolist(), tokens.offsets.tolist()
    (['hat', 'red', 'shoe'], [1, 0, 1, 2], [0, 4, 4])
    """
    offsets, values = readable(texts, threads)
    blocks = row_blocks(offsets, threads)
    if vocabulary is None:
        return _learn(offsets, values, blocks)
    tables = vocabulary.reading
    ids, ends = zip(
        *run_blocks(lambda first, last: look_up_words(values, offsets, first, last, *tables), blocks),
        strict=True,
    )
    return Tokens(joined(ids), row_offsets(ends), vocabulary.vocabulary)


def readable(texts: Texts, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(offsets, bytes) of the texts, as the kernels read them."""
    return text_buffers(_lower_in_context(arrow_strings(texts), threads))


def word_counts(tokens: Tokens, *, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(texts with each word, occurrences of each word), both int64, in the order of the vocabulary."""
    words = len(tokens.vocabulary)
    counts = run_blocks(
        lambda first, last: count_words(tokens.ids, tokens.offsets, first, last, words),
        row_blocks(tokens.offsets, threads),
    )
    documents, occurrences = np.sum(counts, axis=0)
    return documents, occurrences


@cache
def _letters() -> tuple[np.ndarray, np.ndarray]:
    """The tables of `tokenise`: the lower-cased character if that is a word character, else 0."""
    every = np.arange(LETTERS_END, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    for letter in _CONTEXT_LETTERS:
        every = every.replace(letter, " ")
    lowered = every.lower()
    in_lower_case = np.frombuffer(lowered.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    points = np.zeros(CODE_POINTS, dtype=np.int32)
    for run in _WORD.finditer(lowered):
        points[run.start() : run.end()] = in_lower_case[run.start() : run.end()]
    return _with_bytes(points)


def _with_bytes(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(table of bytes (256,) uint8, table of code points); bytes beyond ASCII are `MULTIBYTE`."""
    in_bytes = np.full(256, MULTIBYTE, dtype=np.uint8)
    in_bytes[:128] = points[:128]
    return frozen(in_bytes), frozen(points)


def _lower_in_context(texts: pa.LargeStringArray, threads: int | None) -> pa.LargeStringArray:
    """The column, with rows that have one of `_CONTEXT_LETTERS` lower-cased by Python."""
    offsets, values = text_buffers(texts)
    held = np.empty(len(texts), dtype=bool)
    marked = run_blocks(
        lambda first, last: mark_context_letters(values, offsets, first, last, held),
        row_blocks(offsets, threads),
    )
    if not any(marked):
        return texts
    import pyarrow.compute as pc  # heavy, and no answer needs it

    mask = pa.array(held)
    lowered = [text.lower() for text in texts.filter(mask).to_pylist()]
    return pc.replace_with_mask(texts, mask, pa.array(lowered, type=pa.large_string()))


def _learn(offsets: np.ndarray, values: np.ndarray, blocks: Sequence[tuple[int, int]]) -> Tokens:
    letters = _letters()
    learnt = run_blocks(lambda first, last: learn_words(values, offsets, first, last, *letters), blocks)
    # Each block has numbered its own words: merge the tables, then number the words in sorted order.
    _, _, keys, bounds, content = learnt[0]
    numbers = [np.arange(len(keys), dtype=np.int32)]
    for _, _, *others in learnt[1:]:
        keys, bounds, content, renumbered = merge_words(keys, bounds, content, *others)
        numbers.append(renumbered)
    unsorted = pa.LargeStringArray.from_buffers(
        len(bounds) - 1, pa.py_buffer(bounds), pa.py_buffer(content[: bounds[-1]])
    )
    import pyarrow.compute as pc  # heavy, and no answer needs it

    order = pc.array_sort_indices(unsorted)  # by bytes, which in UTF-8 means by code point
    place = np.empty(len(order), dtype=np.int32)
    place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    ids = [place[number][block[0]] for number, block in zip(numbers, learnt, strict=True)]
    return Tokens(joined(ids), row_offsets([block[1] for block in learnt]), unsorted.take(order))


def character_class(character: str) -> int:
    """The role of a character in words."""
    if character.isalnum():
        return LETTER
    if character in JOINERS:
        return JOINER
    if character.isspace():
        return SPACE
    return MARK if unicodedata.category(character).startswith("M") else OTHER


def word_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each word: letters and digits with their marks; joiners only inside.

    >>> [text[a:b] for text in ["'Tis Levi's zero-waste (1st) shop -"] for a, b in word_spans(text)]
    ['Tis', "Levi's", 'zero-waste', '1st', 'shop']
    """
    spans: list[tuple[int, int]] = []
    inside = False
    for at, character in enumerate(text):
        kind = character_class(character)
        if kind == LETTER or (kind == MARK and inside):
            start = spans.pop()[0] if inside else at
            spans.append((start, at + 1))
            inside = True
        elif kind != JOINER:
            inside = False
    return spans


@cache
def character_classes() -> tuple[np.ndarray, np.ndarray]:
    """The tables of the kernels that edit texts: the class of each character."""
    points = np.fromiter((character_class(chr(point)) for point in range(CODE_POINTS)), np.uint8, CODE_POINTS)
    return _with_bytes(points)


def spaced_words(texts: pa.LargeStringArray, *, threads: int | None = None) -> np.ndarray:
    """(rows,) int64: `len(text.split())` of each text."""
    offsets, values = text_buffers(texts)
    classes = character_classes()
    return joined(
        run_blocks(
            lambda first, last: count_spaced_words(values, offsets, first, last, *classes),
            row_blocks(offsets, threads),
        )
    )
