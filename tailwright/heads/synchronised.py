"""InceptionXML+'s head: a meta classifier over clusters of labels and an extreme classifier, learnt together.

The meta classifier ranks all clusters; the labels of the best `top` are a text's candidates, which the
extreme classifier scores by their vectors, without biases. In training the clusters of a row's own labels are
always among the best (teacher forcing), and the candidates change as the meta classifier learns. A label's
probability is its own times that of its cluster. The loss is the mean cross-entropy over all clusters plus
the mean over each row's candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
import torch
from torch import nn

from tailwright.data.batch_targets import BatchTargets, rows_of
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.mixing import Mixing
from tailwright.evaluation.ranking import TopK
from tailwright.heads.candidate_head import CandidateLists, candidate_loss, list_scores
from tailwright.heads.cluster_head import ClusterHead
from tailwright.heads.label_groups import LabelGroups
from tailwright.kernels.csr import number_locally
from tailwright.kernels.shortlist import candidate_lists

# From the encoder's states: what the meta classifier reads, and what the extreme classifier does.
Views: TypeAlias = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]


class LabelVectors(Protocol):
    """A module that has the vectors of labels, such as a `RowTable`."""

    @property
    def array(self) -> np.ndarray:
        """(labels, width) float32: all of them, for prediction."""
        ...

    def __call__(self, labels: np.ndarray) -> torch.Tensor:
        """(len(labels), width): those of some labels, with a graph in training."""
        ...


@dataclass
class Reach:
    """How many positives of the training rows were among the candidates without teacher forcing."""

    positives: int = 0
    reached: int = 0

    def count(self, reached: np.ndarray) -> None:
        """Take in which positives (pairs,) bool were reached."""
        self.positives += len(reached)
        self.reached += int(np.count_nonzero(reached))


class SynchronisedHead(nn.Module):
    """Both classifiers over the states of texts."""

    mix_points: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        groups: LabelGroups,
        branches: tuple[nn.Module, nn.Module],
        meta: ClusterHead,
        vectors: nn.Module,
        views: Views,
        *,
        top: int,
        binary_clusters: bool = False,
        binary_labels: bool = False,
    ) -> None:
        """`branches` lie before the meta and before the extreme classifier; `vectors` are `LabelVectors`.

        `binary_clusters` and `binary_labels` make all targets of clusters, or of labels, 1.
        """
        super().__init__()
        self.groups, self.views, self.top, self.labels = groups, views, top, len(groups.of_label)
        self.meta_branch, self.label_branch = branches
        self.meta = meta
        self.vectors: LabelVectors = vectors  # type: ignore[assignment]
        self.binary_clusters, self.binary_labels = binary_clusters, binary_labels
        self.reach = Reach()
        self._scratch = np.full(self.labels, -1, dtype=np.int32)

    def forward(
        self, encoded: Encoded, targets: BatchTargets, *, mixing: Mixing | None = None, detached: bool = False
    ) -> torch.Tensor:
        """The loss; `detached`: that of the extreme classifier does not reach the encoder."""
        for_meta, for_labels = self.views(encoded.states)
        truth = targets.of_groups(self.groups.of_label, self.groups.count)
        learnt = truth.binary() if self.binary_clusters else truth
        recalled = torch.empty(len(encoded), self.groups.count)
        loss: torch.Tensor = self.meta(self.meta_branch(for_meta).cpu(), learnt, recalled)
        lists = self._lists(recalled.numpy(), targets, truth)
        queries = self.label_branch(for_labels.detach() if detached else for_labels).cpu()
        candidates = self._candidates(targets.binary() if self.binary_labels else targets, lists)
        labels, places = number_locally(candidates.labels, self._scratch)
        return loss + candidate_loss(queries, self.vectors(labels), replace(candidates, labels=places))

    def _lists(self, recalled: np.ndarray, targets: BatchTargets, truth: BatchTargets) -> np.ndarray:
        """(batch, width) int32: each row's candidates, those of its true clusters included, -1 for none."""
        groups, learnt = self.groups, targets.learnt()
        best = groups.chosen(recalled, self.top)
        true = groups.of_label[learnt.labels]
        clustered = true >= 0
        reached = (best[learnt.rows[clustered]] == true[clustered, None]).any(axis=1)
        self.reach.count(reached)
        if not reached.all():
            best = groups.chosen(recalled, self.top, truth)
        return groups.lists(best).astype(np.int32)

    def _candidates(self, targets: BatchTargets, lists: np.ndarray) -> CandidateLists:
        """The lists with their targets; a row counts by the mean over its own list."""
        positives = int(np.diff(targets.starts).max(initial=0))
        starts, labels, values = candidate_lists(
            targets.starts,
            targets.labels,
            targets.values,
            np.zeros(len(targets.labels)),
            positives,
            lists,
            np.empty((len(lists), 0), dtype=np.int32),
            targets.ignored_starts,
            targets.ignored,
            lists.shape[1] + positives,
            self.labels,
        )
        factors = None
        if targets.label_weights is not None:
            factors = targets.label_factors(rows_of(starts), labels)
        sizes = np.maximum((lists >= 0).sum(axis=1), 1).astype(np.float32)
        return CandidateLists(starts, labels, values, targets.weights / sizes, factors)

    @torch.no_grad()
    def top_k(self, encoded: Encoded, k: int) -> TopK:
        """The k best labels of each text with their log-odds."""
        for_meta, for_labels = self.views(encoded.states)
        recalled = self.meta.logits(self.meta_branch(for_meta).cpu()).numpy()
        lists = self.groups.best_lists(recalled, self.top)
        queries = self.label_branch(for_labels).cpu().numpy()
        scores = list_scores(queries, lists.astype(np.int32), self.vectors.array)
        return self.groups.ranked(recalled, lists, scores, k, k)


def the_same(states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """`Views` of an encoder whose states both classifiers read."""
    return states, states


def halves(states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """`Views` of an encoder that has a state for each classifier, side by side."""
    for_meta, for_labels = states.chunk(2, 1)
    return for_meta, for_labels
