"""LightXML's grouped output: a text is matched with groups of labels, then ranked against theirs alone.

    feature -> recall (all groups)
            -> bottleneck -> label vectors of the chosen groups, without biases

In training the true groups are always among the chosen, the others are those that score highest at that
moment, so the negatives get harder as the network learns. Both losses are means a row: of its candidates, and
of all groups; they are added. Label vectors are a table of which a step changes the rows it has met; as with
all tables there is no weight decay on them.

The score of a label is the log-odds of its chance, which is the chance of its group times its own in there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch.nn import functional

from tailwright.encoders.dropout import dropped
from tailwright.encoders.reading import Read
from tailwright.encoders.row_table import RowTable
from tailwright.evaluation.ranking import TopK, top_k_of_scores
from tailwright.heads.batch_targets import BatchTargets
from tailwright.heads.dense_scores import DenseHead
from tailwright.heads.initial import xavier_uniform
from tailwright.models.lightxml.groups import Block, LabelGroups
from tailwright.models.shared.text_output import Output


@dataclass(frozen=True, eq=False)
class GroupedOutput(Output):
    """Two heads on one feature; see the module."""

    groups: LabelGroups
    recall: DenseHead  # over groups
    bottleneck: DenseHead  # (hidden, width), a bias a cell
    table: RowTable  # (labels, hidden)
    top: int  # groups that a text is matched with
    kept: int  # labels of a text that are answered
    drop: float

    @staticmethod
    def new(
        groups: LabelGroups, width: int, hidden: int, *, top: int, kept: int, drop: float, seed: int
    ) -> GroupedOutput:
        """An untrained output on features of that width."""
        labels = xavier_uniform((len(groups.of_label), hidden), seed, "lightxml/labels")
        return GroupedOutput(
            groups,
            DenseHead.new(groups.count, width, seed, "lightxml/recall"),
            DenseHead.new(hidden, width, seed, "lightxml/bottleneck"),
            RowTable(labels.numpy()),
            top,
            kept,
            drop,
        )

    def parts(self, prefix: str) -> Mapping[str, RowTable | torch.Tensor]:
        return {
            **self.recall.parts(f"{prefix}.recall"),
            **self.bottleneck.parts(f"{prefix}.bottleneck"),
            f"{prefix}.labels": self.table,
        }

    def loss(self, read: Read, targets: BatchTargets, random: np.random.Generator) -> torch.Tensor:
        features = dropped(read.states, self.drop, random)
        truth = self.groups.targets(targets)
        lists = self.groups.lists(self.groups.chosen(self._recalled(features), self.top, truth))
        block = self.groups.block(lists)
        mine = block.targets(targets)
        # A mean over each row's own list: rows that are worked on apart give the gradient of the whole.
        sizes = torch.from_numpy((lists >= 0).sum(axis=1)).to(mine.weights).clamp(min=1)
        mine = replace(mine, weights=mine.weights / sizes)
        ranker = DenseHead(self.table.rows(block.labels).to(features.device), None)
        found = ranker.loss(self._hidden(features), mine, candidates=_places(block, features), mean="rows")
        return found + self.recall.loss(features, truth)

    def top_k(self, read: Read, k: int) -> TopK:
        features, groups = read.states, self.groups
        recalled = self._recalled(features)
        # By ascending label, so that of equal scores the smaller label comes first.
        lists = np.sort(groups.lists(groups.chosen(recalled, self.top)), axis=1)
        block = groups.block(lists)
        ranker = DenseHead(torch.from_numpy(self.table.weight[block.labels]).to(features.device), None)
        scores = ranker.scores(self._hidden(features), _places(block, features)).cpu().numpy()
        of_groups = np.take_along_axis(recalled, groups.of_label[lists].astype(np.int64), axis=1)
        best = top_k_of_scores(both_log_odds(scores, of_groups), min(k, self.kept))
        found = TopK(np.full((len(lists), k), -1, np.int32), np.full((len(lists), k), -np.inf, np.float32))
        named = best.ids >= 0
        rows, places = np.nonzero(named)
        found.ids[rows, places] = lists[rows, best.ids[named]]
        found.scores[rows, places] = best.scores[named]
        return found

    def _recalled(self, features: torch.Tensor) -> np.ndarray:
        """(batch, groups) log-odds, without a graph."""
        scores: np.ndarray = self.recall.scores(features.detach()).float().cpu().numpy()
        return scores

    def _hidden(self, features: torch.Tensor) -> torch.Tensor:
        return functional.linear(features, self.bottleneck.weight, self.bottleneck.bias)


def both_log_odds(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The log-odds, float64, of two things both being so, from the log-odds of each.

    With chances p and q, 1 / pq - 1 is (1 - p) / p + (1 - q) / q + their product. Chances themselves would
    round to 0 and 1, and different labels to equal ones.

    >>> both_log_odds(np.array([0.0, 800.0]), np.array([0.0, 700.0])).round(3).tolist()
    [-1.099, 700.0]
    """
    one, other = -np.asarray(one, np.float64), -np.asarray(other, np.float64)
    return -np.logaddexp(np.logaddexp(one, other), one + other)


def _places(block: Block, features: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(block.lists).to(features.device)
