"""BLEU over words: of texts against their sources, and of texts against each other.

N-grams of 1 to 4 words, clipped counts, the brevity penalty against the reference of the nearest length,
exponential smoothing where an order has no match, and orders left out for which a text is too short: what
sacrebleu computes with `BLEU(tokenize="none", effective_order=True)` of the same words.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

ORDERS = (1, 2, 3, 4)


def bleu(matches: Sequence[int], totals: Sequence[int], words: int, reference_words: int) -> float:
    """BLEU, 0 to 100, from clipped matches and n-grams of each order and the number of words on both sides.

    >>> round(bleu([4, 2, 0, 0], [5, 4, 3, 2], 5, 5), 2)
    30.21
    """
    if not any(matches):
        return 0.0
    logs, halved = [], 1.0
    for matched, total in zip(matches, totals, strict=True):
        if not total:
            break
        if not matched:
            halved /= 2
        logs.append(math.log((matched or halved) / total))
    shortness = min(0.0, 1 - reference_words / words)
    return 100 * math.exp(shortness + sum(logs) / len(logs))


def self_bleu(texts: Sequence[Sequence[int]]) -> float | None:
    """The mean BLEU of each text against all others as references; None for fewer than two texts.

    Texts are lists of word numbers. High means that texts repeat each other.
    """
    if len(texts) < 2:
        return None
    counts = [[Counter(zip(*(text[at:] for at in range(n)), strict=False)) for text in texts] for n in ORDERS]
    # A text may be matched by any other: the largest count elsewhere is the largest of all, or where that is
    # its own, the second.
    largest = [_two_largest(of_order) for of_order in counts]
    lengths = np.array([len(text) for text in texts])
    scores = []
    for place, text in enumerate(texts):
        matches = [
            sum(
                min(count, second[ngram] if first[ngram] == (count, place) else first[ngram][0])
                for ngram, count in of_order[place].items()
            )
            for of_order, (first, second) in zip(counts, largest, strict=True)
        ]
        totals = [max(len(text) - n + 1, 0) for n in ORDERS]
        scores.append(bleu(matches, totals, len(text), _nearest(np.delete(lengths, place), len(text))))
    return float(np.mean(scores))


def _two_largest(
    counts: Sequence[Counter[tuple[int, ...]]],
) -> tuple[dict[tuple[int, ...], tuple[int, int]], dict[tuple[int, ...], int]]:
    """Of each n-gram: (its largest count in a text, which text that is), and the next largest elsewhere."""
    first: dict[tuple[int, ...], tuple[int, int]] = {}
    second: dict[tuple[int, ...], int] = defaultdict(int)
    for place, text in enumerate(counts):
        for ngram, count in text.items():
            best = first.get(ngram, (0, -1))
            if count > best[0]:
                first[ngram], second[ngram] = (count, place), best[0]
            else:
                second[ngram] = max(second[ngram], count)
    return first, second


def _nearest(lengths: np.ndarray, length: int) -> int:
    """The length nearest to `length`, of two the shorter."""
    return int(lengths[np.lexsort((lengths, np.abs(lengths - length)))[0]])
