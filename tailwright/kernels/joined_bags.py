"""The bag of a text with another text appended, from the bags of the two.

A word with c occurrences has the weight (1 + ln c) idf, divided by the length of all weights of its kind. For
a word that occurs once, weight / idf is one over that length, and no word has less. So the smallest such
ratio gives the counts back; the counts are added, and their sums weighted again.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def join_bags(
    indptr: np.ndarray,
    words: np.ndarray,
    weights: np.ndarray,
    rows: np.ndarray,
    other_indptr: np.ndarray,
    other_words: np.ndarray,
    other_weights: np.ndarray,
    appended: np.ndarray,
    idf: np.ndarray,
    kinds: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(indptr, words, weights) of the bags at `rows`, each with the other bag at `appended` (-1: none).

    Words ascend in every bag. Words of kind k are kinds[k]..kinds[k + 1] - 1; each kind is scaled by itself.
    """
    most = 0
    for i in range(len(rows)):
        most += indptr[rows[i] + 1] - indptr[rows[i]]
        if appended[i] >= 0:
            most += other_indptr[appended[i] + 1] - other_indptr[appended[i]]
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    joined = np.empty(most, dtype=np.int32)
    values = np.empty(most, dtype=np.float32)
    at = 0
    for i in range(len(rows)):
        p, p_end = indptr[rows[i]], indptr[rows[i] + 1]
        if appended[i] < 0:
            for source in range(p, p_end):
                joined[at] = words[source]
                values[at] = weights[source]
                at += 1
        else:
            q, q_end = other_indptr[appended[i]], other_indptr[appended[i] + 1]
            for kind in range(len(kinds) - 1):
                border = kinds[kind + 1]
                p_next, once, length = _measured(words, weights, p, p_end, border, idf)
                q_next, other_once, other_length = _measured(
                    other_words, other_weights, q, q_end, border, idf
                )
                first, squares = at, 0.0
                while p < p_next or q < q_next:
                    mine = words[p] if p < p_next else border
                    other = other_words[q] if q < q_next else border
                    word = min(mine, other)
                    count = 0.0
                    if mine == word:
                        count += np.exp(weights[p] / (idf[word] * once) - 1)
                        p += 1
                    if other == word:
                        count += np.exp(other_weights[q] / (idf[word] * other_once) - 1)
                        q += 1
                    weight = (1 + np.log(count)) * idf[word]
                    joined[at], values[at] = word, weight
                    squares += weight * weight
                    at += 1
                if at > first:
                    # Both lengths are those that the features give to this kind; an absent kind has length 0.
                    scale = max(length, other_length) / np.sqrt(squares)
                    for place in range(first, at):
                        values[place] *= scale
        starts[i + 1] = at
    return starts, joined[:at], values[:at]


@njit(cache=True)
def _measured(
    words: np.ndarray, weights: np.ndarray, start: int, end: int, border: int, idf: np.ndarray
) -> tuple[int, float, float]:
    """(end of the words below `border`, weight / idf of a word that occurs once, length of the weights)."""
    once, squares, p = np.inf, 0.0, start
    while p < end and words[p] < border:
        weight = np.float64(weights[p])
        once = min(once, weight / idf[words[p]])
        squares += weight * weight
        p += 1
    return p, once, np.sqrt(squares)
