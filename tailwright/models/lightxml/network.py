"""`GroupedHead`: how LightXML groups labels, and its two heads on one feature.

Labels that stand on similar rows share a group; groups are equal in size up to one label. A label that no row
teaches is in no group: there is nothing that would find it.

Recall scores all groups of labels, and the ranker scores the labels of the best groups: a label's probability
is that of its group times its own. In training a text meets all of its true groups and the best-scored
others, so its negatives are the labels that share a group with a positive or with what recall mistakes for
one, and they change as recall learns. The loss is the sum of both heads' losses.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch
from torch import nn

from tailwright.data.batch_targets import BatchTargets
from tailwright.data.dataset import Dataset
from tailwright.data.text.tfidf import TfIdf
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.mixing import Mixing
from tailwright.evaluation.ranking import TopK
from tailwright.heads.dense import DenseHead
from tailwright.heads.initial import fan_in_uniform
from tailwright.heads.label_groups import LabelGroups
from tailwright.labels.shared import shared_clusters
from tailwright.labels.vectors import pifa, taught_pairs
from tailwright.models.lightxml import LightXmlSettings


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


class GroupedHead(nn.Module):
    """Scores groups by `recall`, and the labels of the best ones by `ranker` behind a `bottleneck`."""

    mix_points: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, groups: LabelGroups, width: int, settings: LightXmlSettings, *, seed: int, name: str
    ) -> None:
        """`name`/... are the streams of the weights."""
        super().__init__()
        self.groups, self.settings, self.labels = groups, settings, len(groups.of_label)
        hidden = settings.hidden
        self.recall = DenseHead(groups.count, width, seed=seed, name=f"{name}/recall")
        self.bottleneck = nn.Linear(width, hidden)
        with torch.no_grad():
            drawn = fan_in_uniform((hidden, width), width, seed, f"{name}/bottleneck/weight")
            self.bottleneck.weight.copy_(drawn)
            self.bottleneck.bias.copy_(fan_in_uniform((hidden,), width, seed, f"{name}/bottleneck/bias"))
        self.ranker = DenseHead(
            self.labels, hidden, seed=seed, name=f"{name}/labels", start="xavier", bias=False, sparse=True
        )

    def forward(
        self, encoded: Encoded, targets: BatchTargets, *, mixing: Mixing | None = None
    ) -> torch.Tensor:
        groups = self.groups
        truth = targets.of_groups(groups.of_label, groups.count)
        lists = groups.lists(groups.chosen(self._recalled(encoded), self.settings.top_groups, truth))
        # A mean over each row's own list: rows that are computed apart give the gradient of the whole.
        sizes = np.maximum((lists >= 0).sum(axis=1), 1).astype(np.float32)
        own = replace(targets, weights=targets.weights / sizes)
        loss: torch.Tensor = self.ranker(self._hidden(encoded), own, candidates=lists, mean="rows")
        return loss + self.recall(encoded, truth)

    def top_k(self, encoded: Encoded, k: int) -> TopK:
        """The k best labels of each text with their log-odds, at most `kept`."""
        groups, recalled = self.groups, self._recalled(encoded)
        lists = groups.best_lists(recalled, self.settings.top_groups)
        scores = self.ranker.logits(self._hidden(encoded), lists).cpu().numpy()
        return groups.ranked(recalled, lists, scores, k, self.settings.kept)

    def _recalled(self, encoded: Encoded) -> np.ndarray:
        """(batch, groups) log-odds, without a graph."""
        scores: np.ndarray = self.recall.logits(encoded).float().cpu().numpy()
        return scores

    def _hidden(self, encoded: Encoded) -> Encoded:
        return Encoded(self.bottleneck(encoded.states), None)
