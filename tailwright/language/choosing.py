"""Which of a source's candidates becomes its text: the first that is new and not the source again."""

from __future__ import annotations

from collections.abc import Iterable

from tailwright.data.text.similarity import similar_above

EMPTY, EQUAL, SIMILAR, DUPLICATE = "empty", "equal to source", "too similar", "duplicate"
WITHOUT = "rows without a text"


class Choice:
    """Chooses for one source after the other and remembers what is taken; the order of the sources counts.

    `counts` says how many candidates were passed over, by reason, and how many sources are left without one.
    """

    def __init__(self, max_similarity: float | None) -> None:
        self.max_similarity = max_similarity
        self.counts = dict.fromkeys((EMPTY, EQUAL, SIMILAR, DUPLICATE, WITHOUT), 0)
        self._taken: set[str] = set()

    def of(self, source: str, candidates: Iterable[str]) -> str | None:
        """The text for `source`, of its candidates from the best to the worst, or None."""
        own = plain(source)
        for text in candidates:
            bare = plain(text)
            reason = self._objection(own, bare)
            if reason is None:
                self._taken.add(bare)
                return text
            self.counts[reason] += 1
        self.counts[WITHOUT] += 1
        return None

    def _objection(self, source: str, text: str) -> str | None:
        if not text:
            return EMPTY
        if text == source:
            return EQUAL
        if text in self._taken:
            return DUPLICATE
        highest = self.max_similarity
        if highest is not None and similar_above(source.split(), text.split(), highest):
            return SIMILAR
        return None


def plain(text: str) -> str:
    """A text with differences of case and white space taken out.

    >>> plain(" Two  WORDS ")
    'two words'
    """
    return " ".join(text.casefold().split())
