"""The best k labels of each row out of scores that come in blocks of labels."""

from __future__ import annotations

import numpy as np

from tailwright.evaluation.ranking import PADDING, TopK, top_k_of_scores


class RunningTopK:
    """Takes blocks of ascending labels; `found` is the ranking of all that came so far."""

    def __init__(self, rows: int, k: int) -> None:
        shape = (rows, k)
        self.found = TopK(np.full(shape, PADDING, dtype=np.int32), np.full(shape, -np.inf, dtype=np.float32))

    def add(self, scores: np.ndarray, first: int) -> None:
        """The scores (rows, block) of the labels from `first` on."""
        best = top_k_of_scores(scores, self.found.k)
        ids = np.where(best.ids >= 0, best.ids + np.int32(first), PADDING)
        # Those found before have smaller labels and stand in front, so equal scores go by smaller label.
        every = np.concatenate([self.found.ids, ids], axis=1)
        merged = top_k_of_scores(np.concatenate([self.found.scores, best.scores], axis=1), self.found.k)
        self.found = TopK(np.take_along_axis(every, merged.ids.astype(np.int64), axis=1), merged.scores)
