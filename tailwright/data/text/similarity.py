"""Whether two texts are nearly the same, word for word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tailwright.data.text.words import spaced_words
from tailwright.kernels.similarity import match_at_least


def similar_above(a: Sequence[str], b: Sequence[str], ratio: float) -> bool:
    """Whether `difflib.SequenceMatcher(None, a, b, autojunk=False).ratio() > ratio` for two lists of words.

    The lengths, then the words regardless of order, rule out nearly all pairs that differ; only the rest are
    matched. As in difflib, two empty lists are equal, and the order of the two lists may matter.

    >>> similar_above("a red wooden chair".split(), "a red wooden stool".split(), 0.7)
    True
    >>> similar_above("a red wooden chair".split(), "a red wooden stool".split(), 0.75)
    False
    """
    needed = words_needed(len(a) + len(b), ratio)
    if min(len(a), len(b)) < needed:
        return False
    if not _share(a, b, needed):
        return False
    numbers: dict[str, int] = {}
    first, second = (
        np.fromiter((numbers.setdefault(word, len(numbers)) for word in words), np.int32, len(words))
        for words in (a, b)
    )
    return bool(match_at_least(first, second, len(numbers), needed))


def words_needed(words: int, ratio: float) -> int:
    """How many words must match for a ratio above `ratio`, if two lists have `words` words together.

    One more than can match, if no match is enough.

    >>> words_needed(40, 0.95), words_needed(0, 0.95), words_needed(10, 1.0)
    (20, 0, 6)
    """
    if not words:  # two empty lists have the ratio 1
        return 0 if ratio < 1 else 1
    # Divided as in difflib, so that a ratio on the border falls on the same side.
    needed = max(int(ratio * words / 2) - 1, 0)
    while needed <= words // 2 and not 2.0 * needed / words > ratio:
        needed += 1
    return needed


def _share(a: Sequence[str], b: Sequence[str], needed: int) -> bool:
    """Whether at least `needed` words of `a` can each be paired with an equal word of `b`, in any order."""
    spare = len(a) - needed
    left = Counter(b)
    for word in a:
        # get: indexing would add a word that b lacks.
        count = left.get(word, 0)
        if count:
            left[word] = count - 1
        elif not spare:
            return False
        else:
            spare -= 1
    return True


def similar_pairs(
    texts: pa.LargeStringArray, first: np.ndarray, second: np.ndarray, ratio: float, *, workers: int = 1
) -> np.ndarray:
    """(pairs,) bool: `similar_above` of the texts at `first` and `second`, split at white space."""
    words = spaced_words(texts, threads=workers)
    a, b = words[first], words[second]
    both = np.maximum(a + b, 1)
    # The bound by lengths, for all pairs at once; two texts without words have the ratio 1.
    similar: np.ndarray = np.where(a + b > 0, 2.0 * np.minimum(a, b) / both, 1.0) > ratio
    for pair in np.flatnonzero(similar):
        one, other = (texts[int(side[pair])].as_py().split() for side in (first, second))
        similar[pair] = similar_above(one, other, ratio)
    return similar
