"""Where the words of a text to be edited are, and how many words white space separates.

`word_spans` is the definition; the kernels in `kernels/spans.py` follow it with a table of character classes
made from Python's own `str` and `unicodedata`.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import pyarrow as pa

from tailwright.data.dataset import frozen, text_buffers
from tailwright.data.text.blocks import joined, row_blocks, run_blocks
from tailwright.kernels.spans import JOINER, LETTER, MARK, OTHER, SPACE, count_spaced_words
from tailwright.kernels.words import CODE_POINTS, MULTIBYTE

# Apostrophes, hyphen, and the invisible joiners of letters in Persian and in Indic scripts.
JOINERS = "'\u2019-\u200c\u200d"


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
    """The tables for the kernels: classes of bytes (256,) uint8, and of code points, uint8."""
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
