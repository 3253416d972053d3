"""Groups of labels that one head finds and another looks into.

A head scores all groups; the labels of the best ones are a text's candidates. Groups of (nearly) equal size
make these a dense table (groups, members), so that the lists of a batch are one lookup.
"""

from __future__ import annotations

import numpy as np

from tailwright.data.batch_targets import BatchTargets
from tailwright.evaluation.ranking import TopK, top_k_of_scores
from tailwright.heads.shortlist import empty_lists


class LabelGroups:
    """Which labels are in which group: `of_label` (labels,) int32, -1 for none; groups are 0, 1, 2, ..."""

    def __init__(self, of_label: np.ndarray) -> None:
        if of_label.dtype != np.int32 or of_label.ndim != 1 or of_label.min(initial=0) < -1:
            raise ValueError("of_label must be int32 numbers of groups, or -1")
        sizes = np.bincount(of_label[of_label >= 0])
        if not sizes.all():
            raise ValueError(f"group {int(np.argmin(sizes))} has no label")
        self.of_label, self.count = of_label, len(sizes)
        # (groups + 1, largest): the last line is what group -1 has, nothing.
        self.members = np.full((len(sizes) + 1, int(sizes.max(initial=0))), -1, dtype=np.int32)
        grouped = np.flatnonzero(of_label >= 0)
        order = grouped[np.argsort(of_label[grouped], kind="stable")]
        places = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.members[of_label[order], places] = order

    def chosen(self, scores: np.ndarray, top: int, truth: BatchTargets | None = None) -> np.ndarray:
        """(batch, width) int32: the groups that each row is matched with, given scores (batch, groups).

        Those that are true, all of them, and the best others until there are `top`; -1 for none.
        """
        size = np.full(len(scores), top)
        if truth is not None:
            scores = scores.copy()
            scores[truth.rows, truth.labels] = np.inf
            size = np.maximum(size, np.diff(truth.starts))
        width = int(min(size.max(initial=1), max(self.count, 1)))
        best = top_k_of_scores(scores, width).ids
        return np.where(np.arange(width) < size[:, None], best, -1)

    def lists(self, chosen: np.ndarray) -> np.ndarray:
        """(batch, width) int64: the labels of the chosen groups (batch, some), -1 for none."""
        width = chosen.shape[1] * self.members.shape[1]
        return self.members[chosen].reshape(len(chosen), width).astype(np.int64)

    def best_lists(self, scores: np.ndarray, top: int) -> np.ndarray:
        """(batch, width) int64: the labels of the `top` best groups by ascending label, -1 for none.

        In this order, of labels with equal scores the smaller one comes first.
        """
        return np.sort(self.lists(self.chosen(scores, top)), axis=1)

    def ranked(self, recalled: np.ndarray, lists: np.ndarray, scores: np.ndarray, k: int, kept: int) -> TopK:
        """The k best labels of `best_lists` with the log-odds that both they and their group are right.

        `recalled` (batch, groups) are the groups' log-odds, `scores` (batch, width) those of the listed
        labels; at most `kept` labels are ranked.
        """
        of_groups = np.take_along_axis(recalled, self.of_label[lists].astype(np.int64), axis=1)
        best = top_k_of_scores(both_log_odds(scores, of_groups), min(k, kept))
        top, named = empty_lists(len(lists), k), best.ids >= 0
        rows, places = np.nonzero(named)
        top.ids[rows, places] = lists[rows, best.ids[named]]
        top.scores[rows, places] = best.scores[named]
        return top


def both_log_odds(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The log-odds, float64, of two events both happening, from the log-odds of each.

    With probabilities p and q, 1 / pq - 1 is (1 - p) / p + (1 - q) / q + their product. Probabilities
    themselves would round to 0 and 1, and different labels to equal ones.

    >>> both_log_odds(np.array([0.0, 800.0]), np.array([0.0, 700.0])).round(3).tolist()
    [-1.099, 700.0]
    """
    one, other = -np.asarray(one, np.float64), -np.asarray(other, np.float64)
    return -np.logaddexp(np.logaddexp(one, other), one + other)
