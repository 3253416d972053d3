"""Groups of labels: how they are made, and which of them a text is matched with.

Labels that stand on similar rows share a group; groups are equal in size up to one label. A label that no row
teaches is in no group: there is nothing that would find it.
"""

from __future__ import annotations

import math

import numpy as np

from tailwright.data.batch_targets import BatchTargets
from tailwright.data.dataset import Dataset
from tailwright.data.text.tfidf import TfIdf
from tailwright.evaluation.ranking import top_k_of_scores
from tailwright.labels.shared import shared_clusters
from tailwright.labels.vectors import pifa, taught_pairs


def group_count(labels: int, top: int, largest: int | None) -> int:
    """How many groups so many labels get: a power of two, with at most `largest` labels in each.

    Without `largest` it is the one nearest to the root of labels x top. A text is scored against all n groups
    and against the labels of `top` of them: n + top x labels / n scores, which are fewest there.

    >>> group_count(27_000, 10, None), group_count(670_091, 75, None), group_count(670_091, 75, 100)
    (512, 8192, 8192)
    >>> group_count(3, 10, None), group_count(0, 10, 100)
    (2, 1)
    """
    if largest is not None:
        return 1 << max(-(-labels // largest) - 1, 0).bit_length()
    # No more groups than labels: one that has none would be scored for nothing.
    most = max(labels, 1).bit_length() - 1
    return 1 << min(round(math.log2(max(labels * top, 1)) / 2), most)


def label_groups(train: Dataset, top: int, largest: int | None, seed: int) -> np.ndarray:
    """(labels,) int32: the group of each label by balanced 2-means, -1 for one that no row teaches."""
    pairs = taught_pairs(train)
    taught = np.unique(pairs.indices)
    group_of = np.full(train.labels, -1, dtype=np.int32)
    if len(taught):
        vectors = pifa(pairs, TfIdf.fit_transform(train.texts)[1])[taught]
        group_of[taught] = shared_clusters(vectors, group_count(len(taught), top, largest), seed=seed)
    return group_of


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
