"""Why a model scored a label as it did: what each word of a text added, the way to the label, the parts.

A model that can split its score by words does so exactly: `bias` and the values of all words add up to
`total`. For the others words are left out one at a time (`tailwright.runs.occlusion`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tailwright.data.text.words import split_words

KnownBy: TypeAlias = Literal["word", "pieces", "nothing"]


@dataclass(frozen=True)
class WordShare:
    """A word of the text, in lower case, and what all its occurrences together add to the score.

    `known_by` says how the model reads it: as a word of its vocabulary, by its sub-word pieces alone, or not
    at all.
    """

    word: str
    value: float
    known_by: KnownBy = "word"


@dataclass(frozen=True)
class Step:
    """A classifier on the way from the root of a label tree to a label; the last one is the label's own.

    `margin` is its bias and the values of `words`, which are those with a weight, together. `kept` says
    whether the search took this step: its beam follows only the best clusters of each level.
    """

    margin: float
    activation: float  # in (0, 1]; the product along a path is the label's score in that tree
    kept: bool
    bias: float
    words: tuple[WordShare, ...]


@dataclass(frozen=True)
class PartOpinion:
    """What one part of a fusion said of a label."""

    name: str
    rank: int | None  # from 1; None if the part did not name the label
    score: float | None
    kind: str  # of the score, as on the part's card
    share: float | None  # of all that the part named for the text, after a softmax
    adds: float | None  # to the fusion's log-odds, against the part not naming the label; None if unknown
    reasons: Reasons


@dataclass(frozen=True)
class Reasons:
    """Why a label has the score that it has.

    | field | |
    |---|---|
    | `measure` | what the values of words are, in words |
    | `words` | each distinct word of the text, in its order; None if the model cannot say |
    | `exact` | whether bias and words add up to the whole |
    | `paths` | one a label tree, for models that search trees |
    | `parts` | one a part, for a fusion |
    | `log_odds` | what a fusion made of its parts; None if none of them named the label |
    | `notes` | what else there is to say, a line each |
    """

    measure: str = ""
    words: tuple[WordShare, ...] | None = None
    bias: float = 0.0
    exact: bool = False
    paths: tuple[tuple[Step, ...], ...] = ()
    parts: tuple[PartOpinion, ...] = ()
    log_odds: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """Bias and words together."""
        return self.bias + math.fsum(share.value for share in self.words or ())


def word_shares(
    text: str, values: Mapping[str, float], read_by_pieces: Collection[str] = ()
) -> tuple[WordShare, ...]:
    """Each distinct word of a text with its value; a word without one is unknown.

    `read_by_pieces` are words with a value that are not in the vocabulary themselves.

    >>> [(share.word, share.known_by) for share in word_shares("Red hat, red xyz", {"red": 0.5, "hat": 0.0})]
    [('red', 'word'), ('hat', 'word'), ('xyz', 'nothing')]
    """

    def known_by(word: str) -> KnownBy:
        if word not in values:
            return "nothing"
        return "pieces" if word in read_by_pieces else "word"

    return tuple(
        WordShare(word, float(values.get(word, 0.0)), known_by(word))
        for word in dict.fromkeys(split_words(text))
    )
