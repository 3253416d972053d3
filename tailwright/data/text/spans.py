"""Where words lie in a text that is to be edited, and how many words white space parts it into.

`word_spans` is the definition; the kernels of `kernels.spans` follow it by a table of character classes that
is made of Python's own `str` and `unicodedata`.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import pyarrow as pa

from tailwright.data.text.blocks import joined, row_blocks, run_blocks
from tailwright.data.text.words import frozen, text_buffers
from tailwright.kernels.spans import JOINER, LETTER, MARK, OTHER, SPACE, count_spaced_words
from tailwright.kernels.words import CODE_POINTS, MULTIBYTE

# Apostrophes, hyphen, and what joins letters in Persian and in scripts of India without being seen.
JOINERS = "'\u2019-\u200c\u200d"


def character_class(character: str) -> int:
    """What a character is to a word."""
    if character.isalnum():
        return LETTER
    if character in JOINERS:
        return JOINER
    if character.isspace():
        return SPACE
    return MARK if unicodedata.category(character).startswith("M") else OTHER


def word_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each word: letters and digits with marks upon them; joiners may stand inside.

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
    """The classes that kernels read: (of bytes (256,) uint8, of code points uint8)."""
    points = np.fromiter((character_class(chr(point)) for point in range(CODE_POINTS)), np.uint8, CODE_POINTS)
    in_bytes = np.full(256, MULTIBYTE, dtype=np.uint8)
    in_bytes[:128] = points[:128]
    return frozen(in_bytes), frozen(points)


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
