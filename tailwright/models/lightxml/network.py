"""`GroupedHead`: LightXML's two heads on one feature.

Recall scores all groups of labels, and the ranker scores the labels of the best groups: a label's probability
is that of its group times its own. In training a text meets all of its true groups and the best-scored
others, so its negatives are the labels that share a group with a positive or with what recall mistakes for
one, and they change as recall learns. The loss is the sum of both heads' losses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch
from torch import nn

from tailwright.data.batch_targets import BatchTargets
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.mixing import Mixing
from tailwright.evaluation.ranking import TopK, top_k_of_scores
from tailwright.heads.dense import DenseHead
from tailwright.heads.initial import fan_in_uniform
from tailwright.models.lightxml import LightXmlSettings
from tailwright.models.lightxml.groups import LabelGroups


class GroupedHead(nn.Module):
    """Scores groups by `recall`, and the labels of the best ones by `ranker` behind a `bottleneck`."""

    mix_points: ClassVar[tuple[str, ...]] = ()

    def __init__(self, groups: LabelGroups, width: int, settings: LightXmlSettings, *, seed: int) -> None:
        super().__init__()
        self.groups, self.settings, self.labels = groups, settings, len(groups.of_label)
        hidden = settings.hidden
        self.recall = DenseHead(groups.count, width, seed=seed, name="lightxml/recall")
        self.bottleneck = nn.Linear(width, hidden)
        with torch.no_grad():
            name = "lightxml/bottleneck"
            self.bottleneck.weight.copy_(fan_in_uniform((hidden, width), width, seed, f"{name}/weight"))
            self.bottleneck.bias.copy_(fan_in_uniform((hidden,), width, seed, f"{name}/bias"))
        self.ranker = DenseHead(
            self.labels, hidden, seed=seed, name="lightxml/labels", start="xavier", bias=False, sparse=True
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
        # By ascending label, so that of equal scores the smaller label comes first.
        lists = np.sort(groups.lists(groups.chosen(recalled, self.settings.top_groups)), axis=1)
        scores = self.ranker.logits(self._hidden(encoded), lists).cpu().numpy()
        of_groups = np.take_along_axis(recalled, groups.of_label[lists].astype(np.int64), axis=1)
        best = top_k_of_scores(both_log_odds(scores, of_groups), min(k, self.settings.kept))
        ids, best_scores = (
            np.full((len(lists), k), -1, np.int32),
            np.full((len(lists), k), -np.inf, np.float32),
        )
        named = best.ids >= 0
        rows, places = np.nonzero(named)
        ids[rows, places] = lists[rows, best.ids[named]]
        best_scores[rows, places] = best.scores[named]
        return TopK(ids, best_scores)

    def _recalled(self, encoded: Encoded) -> np.ndarray:
        """(batch, groups) log-odds, without a graph."""
        scores: np.ndarray = self.recall.logits(encoded).float().cpu().numpy()
        return scores

    def _hidden(self, encoded: Encoded) -> Encoded:
        return Encoded(self.bottleneck(encoded.states), None)


def both_log_odds(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The log-odds, float64, of two events both happening, from the log-odds of each.

    With probabilities p and q, 1 / pq - 1 is (1 - p) / p + (1 - q) / q + their product. Probabilities
    themselves would round to 0 and 1, and different labels to equal ones.

    >>> both_log_odds(np.array([0.0, 800.0]), np.array([0.0, 700.0])).round(3).tolist()
    [-1.099, 700.0]
    """
    one, other = -np.asarray(one, np.float64), -np.asarray(other, np.float64)
    return -np.logaddexp(np.logaddexp(one, other), one + other)
