"""Loops in generated texts: the same words over and over, as a language model writes where it is lost.

A loop is an n-gram that stands at least three times in a row. It is cut down to its first time, together with
a last time that the text breaks off in. What then still repeats itself as `tailwright quality` measures it
(half of the 3-grams occurred earlier in the text) is no text to learn from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

TIMES = 3  # in a row; said twice, a phrase may be meant
ORDER = 3  # of the n-grams by which a text is called looping, as in docs/quality.md

_WORD = re.compile(r"\w+")


def without_loops(text: str, source: str) -> str:
    """The text with each loop cut down to its first time, unless the source has the same loop.

    >>> without_loops("A red hat, red hat, red hat, red", "a hat")
    'A red hat'
    >>> without_loops("no no no way", "they say no no no")
    'no no no way'
    """
    spans = [match.span() for match in _WORD.finditer(text)]
    words = [text[start:end].lower() for start, end in spans]
    said = _spaced(_WORD.findall(source.lower()))
    kept: list[str] = []
    written = first = 0
    while first < len(words):
        size = _size_of_loop(words, first)
        if size and _spaced(words[first : first + size] * TIMES) not in said:
            end = _end_of_loop(words, first, size)
            kept.append(text[written : spans[first + size - 1][1]])
            written, first = spans[end - 1][1], end
        else:
            first += 1
    return "".join([*kept, text[written:]]).rstrip(" ,;") if kept else text


def is_looping(text: str) -> bool:
    """Whether at least half of the 3-grams occurred earlier in the text.

    >>> is_looping("big red hat and big red hat and big red hat"), is_looping("big red hat and red shoes")
    (True, False)
    """
    words = _WORD.findall(text.lower())
    grams = list(zip(*(words[start:] for start in range(ORDER)), strict=False))
    return bool(grams) and 2 * len(set(grams)) <= len(grams)


def _size_of_loop(words: Sequence[str], first: int) -> int:
    """The words of the shortest n-gram that stands `TIMES` times in a row from `first` on; 0 if none does."""
    for size in range(1, (len(words) - first) // TIMES + 1):
        if all(words[first + place] == words[first + place + size] for place in range((TIMES - 1) * size)):
            return size
    return 0


def _end_of_loop(words: Sequence[str], first: int, size: int) -> int:
    """Behind the last word of the loop of n-grams of `size` words that begins at `first`."""
    end = first + size
    while end < len(words) and words[end] == words[end - size]:
        end += 1
    # A last time that breaks off belongs to the loop only where the text ends with it.
    return end if end == len(words) else end - (end - first) % size


def _spaced(words: Sequence[str]) -> str:
    """Words that can be looked for among words."""
    return f" {' '.join(words)} "
