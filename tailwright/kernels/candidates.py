"""The candidates of a fusion and their features, of all texts in one pass.

What `tailwright.models.fusion.combination` says of them, in loops: for one text NumPy's calls take far longer
than the numbers, for many its sorting of all pairs does.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tailwright.kernels.compiling import helper
from tailwright.kernels.ranking import best_first, better, find_label, offer
from tailwright.kernels.tfidf import sort_ids

FEATURES_A_PART = 4  # score, share, missing, place


@njit(cache=True, nogil=True)
def candidate_features(
    ids: np.ndarray,  # (parts, texts, k) int32, -1 for padding
    scores: np.ndarray,  # (parts, texts, k) float32
    log_odds: np.ndarray,  # (parts,) bool: parts whose scores are no probabilities
    counts: np.ndarray,  # (labels,) int64: training rows
    below: float,
    smallest: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(texts int64, labels int32, features float32) of all pairs, ascending by text and label.

    A label that a part did not name is put `below` its last; smaller probabilities count as `smallest`.
    """
    parts, texts, k = ids.shape
    width = FEATURES_A_PART * parts + 1
    rows = np.empty(parts * texts * k, np.int64)
    labels = np.empty(parts * texts * k, np.int32)
    features = np.empty((parts * texts * k, width), np.float32)
    values = np.empty(k, np.float64)
    used = 0
    for text in range(texts):
        first = used
        for part in range(parts):
            for place in range(k):
                if ids[part, text, place] >= 0:
                    labels[used] = ids[part, text, place]
                    used += 1
        used = first + _distinct(labels[first:used])
        for part in range(parts):
            best, last, total = -math.inf, math.inf, 0.0
            for place in range(k):
                if ids[part, text, place] >= 0:
                    score = np.float64(scores[part, text, place])
                    values[place] = score if log_odds[part] else math.log(max(score, smallest))
                    best, last = max(best, values[place]), min(last, values[place])
            for place in range(k):
                if ids[part, text, place] >= 0:
                    total += math.exp(values[place] - best)
            some = best > -math.inf
            unnamed = last - below if some else 0.0
            normal = best + math.log(max(total, smallest)) if some else 0.0
            column = FEATURES_A_PART * part
            for at in range(first, used):
                features[at, column], features[at, column + 1] = unnamed, unnamed - normal
                features[at, column + 2], features[at, column + 3] = 1, 0
            for place in range(k):
                if ids[part, text, place] >= 0:
                    at = find_label(labels, first, used, ids[part, text, place])
                    features[at, column], features[at, column + 1] = values[place], values[place] - normal
                    features[at, column + 2], features[at, column + 3] = 0, 1 / (1 + place)
        for at in range(first, used):
            rows[at] = text
            features[at, width - 1] = math.log1p(counts[labels[at]])
    return rows[:used], labels[:used], features[:used]


@njit(cache=True, nogil=True)
def best_candidates(
    rows: np.ndarray,  # (pairs,) int64, ascending
    labels: np.ndarray,  # (pairs,) int32
    log_odds: np.ndarray,  # (pairs,) float32
    ids: np.ndarray,  # (texts, k) int32, filled with -1
    best: np.ndarray,  # (texts, k) float32, filled with minus infinity
) -> None:
    """Fill ids and their log-odds, best first, equal ones by smaller label."""
    size, k = 0, ids.shape[1]
    for pair in range(len(rows)):
        text = rows[pair]
        if size < k or better(log_odds[pair], labels[pair], best[text, 0], ids[text, 0]):
            size = offer(ids[text], best[text], size, labels[pair], log_odds[pair])
        if pair + 1 == len(rows) or rows[pair + 1] != text:
            best_first(ids[text], best[text], size)
            size = 0


@helper
def _distinct(labels: np.ndarray) -> int:
    """Sort in place and move the distinct labels to the front; returns how many there are."""
    sort_ids(labels)
    used = 0
    for i in range(len(labels)):
        if used == 0 or labels[i] != labels[used - 1]:
            labels[used] = labels[i]
            used += 1
    return used
