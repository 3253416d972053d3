"""Where the text of a label stands in another text, word for word: how often, and how early."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

MENTION_FEATURES = 3  # stands, times, early


@njit(cache=True, nogil=True)
def mention_features(
    rows: np.ndarray,  # (pairs,) int64
    labels: np.ndarray,  # (pairs,) int32
    ids: np.ndarray,  # (words of all texts,) int32; -1 for a word that no label has
    offsets: np.ndarray,  # (texts + 1,) int64
    label_ids: np.ndarray,  # (words of all labels,) int32
    label_offsets: np.ndarray,  # (labels + 1,) int64
    features: np.ndarray,  # (pairs, 3) float32, filled
) -> None:
    """Of a text and a label: 1 if the label's words stand in the text side by side, ln(1 + how often)
    and 1 - (words before the first time) / (words of the text); all 0 where they do not stand there.
    """
    for pair in range(len(rows)):
        start, stop = offsets[rows[pair]], offsets[rows[pair] + 1]
        first, last = label_offsets[labels[pair]], label_offsets[labels[pair] + 1]
        times, earliest = 0, stop
        if first < last:
            for at in range(start, stop - (last - first) + 1):
                if ids[at] != label_ids[first]:
                    continue
                word = first + 1
                while word < last and ids[at + word - first] == label_ids[word]:
                    word += 1
                if word == last:
                    times += 1
                    earliest = min(earliest, at)
        features[pair] = 0
        if times:
            features[pair, 0] = 1
            features[pair, 1] = math.log1p(times)
            features[pair, 2] = 1 - (earliest - start) / (stop - start)
