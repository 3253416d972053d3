"""Rankings written down as lists of pairs, for tests."""

from __future__ import annotations

import numpy as np

from tailwright.evaluation.ranking import TopK


def top(*rows: list[tuple[int, float]]) -> TopK:
    """Lists of (label, score), padded to the longest."""
    width = max(len(row) for row in rows)
    ids = np.full((len(rows), width), -1, dtype=np.int32)
    scores = np.full((len(rows), width), -np.inf, dtype=np.float32)
    for place, row in enumerate(rows):
        for column, (label, score) in enumerate(row):
            ids[place, column], scores[place, column] = label, score
    return TopK(ids, scores)
