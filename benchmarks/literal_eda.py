"""TextAttack's EDA and WordNet augmenters of 2020, step by step: what ours are tested against.

An augmentation shuffles the positions of a text's words and walks through them. At each it makes every edited
text that is possible there, takes one of them at random, and stops when it has made enough edits. As there,
every candidate is a whole text of its own, and synonyms are asked of WordNet each time.
"""

from __future__ import annotations

import random
from collections.abc import Callable

OPERATIONS = ("synonyms", "insert", "swap", "delete")
SynonymsOf = Callable[[str], set[str]]


class Text:
    """A text as what stands at the places of its words, and between them; None is a deleted word."""

    def __init__(self, places: list[str | None], gaps: list[str], changed: frozenset[int]) -> None:
        self.places, self.gaps, self.changed = places, gaps, changed
        self.text = gaps[0]
        for place, gap in zip(places, gaps[1:], strict=True):
            if place is None:
                self.text = self.text[:-1] if self.text.endswith(" ") else self.text
                self.text += gap if self.text else gap.lstrip(" ")
            else:
                self.text += place + gap

    def with_places(self, new: dict[int, str | None]) -> Text:
        places = [new.get(i, place) for i, place in enumerate(self.places)]
        return Text(places, self.gaps, self.changed | set(new))

    def words(self) -> list[str]:
        """The words that are there now, inserted ones too."""
        return [word for place in self.places if place is not None for word in place.split(" ")]


def parted(text: str) -> Text:
    """Words are runs of letters and digits; `'` and `-` may stand inside."""
    places: list[str | None] = []
    gaps = [""]
    word, joiners = "", ""
    for character in f"{text}\n":
        if character.isalnum():
            word += joiners + character
            joiners = ""
        elif word and character in "'-":
            joiners += character
        elif word:
            places.append(word)
            gaps.append(joiners + character)
            word, joiners = "", ""
        else:
            gaps[-1] += character
    gaps[-1] = gaps[-1][:-1]
    return Text(places, gaps, frozenset())


def candidates(text: Text, i: int, operation: str, synonyms_of: SynonymsOf, stops: set[str]) -> list[Text]:
    """The texts that one edit at position i can give."""
    word = text.places[i]
    assert word is not None
    if operation == "synonyms":
        if word in stops:
            return []
        names = [n for n in synonyms_of(word) if "_" not in n and len(parted(n).places) == 1]
        return [text.with_places({i: name}) for name in names]
    if operation == "insert":
        for _ in range(7):
            names = [n for n in synonyms_of(random.choice(text.words())) if n.isalpha()]
            if names:
                return [text.with_places({i: f"{word} {random.choice(names)}"})]
        return []
    others = [j for j in range(len(text.places)) if j != i]
    if operation == "swap":
        if not others:
            return []
        j = random.choice(others)
        return [text.with_places({i: text.places[j], j: word})]
    return [text.with_places({i: None})] if len(text.words()) > 1 else []


def augmented(text: str, operation: str, synonyms_of: SynonymsOf, stops: set[str], share: float = 0.1) -> str:
    """One augmentation of a text by one operation."""
    current = parted(text)
    order = list(range(len(current.places)))
    edits = max(int(share * len(order)), 1)
    random.shuffle(order)
    for i in order:
        if i in current.changed:
            continue
        found = candidates(current, i, operation, synonyms_of, stops)
        if found:
            current = random.choice(found)
            edits -= 1
            if not edits:
                break
    return current.text


def eda(text: str, synonyms_of: SynonymsOf, stops: set[str]) -> str:
    """The recipe with one output: all four operations are run, and one of their texts is kept."""
    return random.choice([augmented(text, operation, synonyms_of, stops) for operation in OPERATIONS])
