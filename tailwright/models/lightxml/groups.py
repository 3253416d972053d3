"""Groups of labels, of which a text is matched with a few: how they are made, and what they mean for a batch.

Labels that stand on similar rows share a group; groups are equal in size up to one label. A label that no row
teaches is in no group: there is nothing that would find it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from tailwright.data.dataset import Dataset
from tailwright.data.text.tfidf import TfIdf
from tailwright.evaluation.ranking import top_k_of_scores
from tailwright.heads.batch_targets import BatchTargets
from tailwright.labels.shared import shared_clusters
from tailwright.labels.taught import taught_pairs
from tailwright.labels.vectors import pifa


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
    found = np.full(train.labels, -1, dtype=np.int32)
    if len(taught):
        vectors = pifa(pairs, TfIdf.fit_transform(train.texts)[1])[taught]
        found[taught] = shared_clusters(vectors, group_count(len(taught), top, largest), seed=seed)
    return found


@dataclass(frozen=True, eq=False)
class Block:
    """The labels that a batch is scored against, and each row's list of them."""

    labels: np.ndarray  # (block,) int32, ascending: rows of the table of label vectors
    lists: np.ndarray  # (batch, width) int64: places in `labels`, -1 for none

    def targets(self, targets: BatchTargets) -> BatchTargets:
        """The same targets with places in `labels` for labels, without those of labels that are not in it."""
        place = torch.from_numpy(self.labels).to(targets.labels)
        ends, labels, kept = _found(targets.ends, targets.labels, place)
        ignored_ends, ignored, _ = _found(targets.ignored_ends, targets.ignored, place)
        return BatchTargets(ends, labels, targets.values[kept], targets.weights, ignored_ends, ignored)


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

    def targets(self, targets: BatchTargets) -> BatchTargets:
        """What the batch says of groups.

        The target of a group is the largest of its labels'. A group that ignored labels alone point at gives
        no loss; one that has a positive as well is a positive.
        """
        labels, groups = len(self.of_label), self.count
        of_label = torch.from_numpy(self.of_label).to(targets.labels)
        row, skip_row = _rows_of(targets.ends), _rows_of(targets.ignored_ends)
        group, skip_group = of_label[targets.labels], of_label[targets.ignored]
        ignored = torch.isin(row * labels + targets.labels, skip_row * labels + targets.ignored)
        kept = ~ignored & (group >= 0)
        cells, place = torch.unique(row[kept] * groups + group[kept], return_inverse=True)
        largest = targets.values.new_zeros(len(cells))
        largest.scatter_reduce_(0, place, targets.values[kept], "amax")
        cold = torch.unique((skip_row * groups + skip_group)[skip_group >= 0])
        cold = cold[~torch.isin(cold, cells)]
        edges = torch.arange(len(targets) + 1, device=cells.device) * groups
        return BatchTargets(
            torch.searchsorted(cells, edges),
            cells % max(groups, 1),
            largest,
            targets.weights,
            torch.searchsorted(cold, edges),
            cold % max(groups, 1),
        )

    def chosen(self, scores: np.ndarray, top: int, truth: BatchTargets | None = None) -> np.ndarray:
        """(batch, width) int32: the groups that each row is matched with, given scores (batch, groups).

        Those that are true, all of them, and the best others until there are `top`; -1 for none.
        """
        size = np.full(len(scores), top)
        if truth is not None:
            ends = truth.ends.cpu().numpy()
            scores = scores.copy()
            scores[np.repeat(np.arange(len(scores)), np.diff(ends)), truth.labels.cpu().numpy()] = np.inf
            size = np.maximum(size, np.diff(ends))
        width = int(min(size.max(initial=1), max(self.count, 1)))
        best = top_k_of_scores(scores, width).ids
        return np.where(np.arange(width) < size[:, None], best, -1)

    def lists(self, chosen: np.ndarray) -> np.ndarray:
        """(batch, width) int32: the labels of the chosen groups (batch, some), -1 for none."""
        return self.members[chosen].reshape(len(chosen), chosen.shape[1] * self.members.shape[1])

    def block(self, lists: np.ndarray) -> Block:
        """The labels of a batch's lists, once each."""
        there = lists >= 0
        labels, places = np.unique(lists[there], return_inverse=True)
        local = np.full(lists.shape, -1, dtype=np.int64)
        local[there] = places
        return Block(labels, local)


def _rows_of(ends: torch.Tensor) -> torch.Tensor:
    return torch.repeat_interleave(torch.arange(len(ends) - 1, device=ends.device), ends.diff())


def _found(
    ends: torch.Tensor, labels: torch.Tensor, among: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(ends, places in `among`, which they are) of those labels that are among these ascending ones."""
    place = torch.searchsorted(among, labels)
    kept = place < len(among)
    kept[kept.clone()] = among[place[kept]] == labels[kept]
    before = torch.cat([kept.new_zeros(1, dtype=torch.int64), kept.cumsum(0)])
    return before[ends], place[kept], kept
