"""Texts with blanks, as T5 learnt to read them: masked words become sentinels, and the answer lists them.

    the quick brown fox jumps over the lazy dog
    source: the <extra_id_0> fox jumps over the <extra_id_1> dog
    target: <extra_id_0> quick brown <extra_id_1> lazy

A word is a run of letters and digits, with apostrophes and hyphens inside, or a run of other characters such
as punctuation, which can be masked too. White space is single spaces. Unlike the code of XDA's authors, which
writes a space around every comma, a text keeps the spaces that it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

_LETTERS = r"\w[\w\u0300-\u036f]*"  # with accents that stand alone
_WORD = re.compile(rf"( ?)({_LETTERS}(?:[-'\u2019]{_LETTERS})*|[^\w\s]+)")

Blanks = list[tuple[int, int]]
"""Runs of words as (start, end), ascending, with at least one word between two"""


@dataclass(frozen=True)
class Words:
    """The words of a text, and the space before each, which may be empty."""

    words: tuple[str, ...]
    spaces: tuple[str, ...]

    @staticmethod
    def of(text: str) -> Words:
        """
        >>> Words.of("A  red, zero-waste car").words
        ('A', 'red', ',', 'zero-waste', 'car')
        """
        found = _WORD.findall(" ".join(text.split()))
        return Words(tuple(word for _, word in found), tuple(space for space, _ in found))

    def __len__(self) -> int:
        return len(self.words)

    def parts(self, start: int, end: int) -> list[tuple[str, str]]:
        """The words from `start` to `end`, each after its space."""
        return list(zip(self.spaces[start:end], self.words[start:end], strict=True))


def drawn_blanks(words: int, share: float, random: np.random.Generator) -> Blanks:
    """Blanks of int(share x words) words, drawn without replacement; words side by side become one blank."""
    count = int(share * words)
    return merged(np.sort(random.choice(words, count, replace=False)).tolist()) if count else []


def merged(places: Iterable[int]) -> Blanks:
    """Runs of ascending places.

    >>> merged([1, 2, 5])
    [(1, 3), (5, 6)]
    """
    runs: Blanks = []
    for place in places:
        if runs and runs[-1][1] == place:
            runs[-1] = (runs[-1][0], place + 1)
        else:
            runs.append((place, place + 1))
    return runs


class MaskedText:
    """A text with blanks. `values` are what stands in these: its own words, until `put` changes them.

    >>> masked = MaskedText(Words.of("a red, old car"), [(1, 4)])
    >>> masked.segments([0]), masked.values
    (['a', 'car'], ['red, old'])
    >>> masked.put([0], ["new"])
    >>> str(masked)
    'a new car'
    """

    def __init__(self, words: Words, blanks: Blanks) -> None:
        self.words, self.blanks = words, blanks
        self.values = [_joined(words.parts(start, end)) for start, end in blanks]

    def segments(self, chosen: Sequence[int]) -> list[str]:
        """The text around the chosen blanks: one segment more than these, and some may be empty.

        The other blanks hold their values.
        """
        segments: list[str] = []
        parts: list[tuple[str, str]] = []
        at = 0
        for number, (start, end) in enumerate(self.blanks):
            parts += self.words.parts(at, start)
            at = end
            if number in chosen:
                segments.append(_joined(parts))
                parts = []
            else:
                parts.append((self.words.spaces[start], self.values[number]))
        return [*segments, _joined([*parts, *self.words.parts(at, len(self.words))])]

    def put(self, chosen: Sequence[int], values: Sequence[str]) -> None:
        """Write values into the chosen blanks; an empty one removes the words."""
        for number, value in zip(chosen, values, strict=True):
            self.values[number] = " ".join(value.split())

    def __str__(self) -> str:
        return self.segments([])[0]


def _joined(parts: Iterable[tuple[str, str]]) -> str:
    """Words, each after its space. Letters that would meet without one get one."""
    text = ""
    for space, word in parts:
        meet = text and word and _is_letter(text[-1]) and _is_letter(word[0])
        text += (" " if meet else space if text and word else "") + word
    return text


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"
