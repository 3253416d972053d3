"""The phases of classifiers with clusters and shortlists, and what lies between phases.

| phase | trains | on |
|---|---|---|
| `ClusterPhase` | what encodes texts | clusters of labels, all of them scored for each row |
| `CandidatePhase` | a vector a label | a row's positives, its shortlist, labels at random |

What a phase needs of those before it (clusters, vectors, shortlists) is a function of frozen weights. It is
made when the phase first asks for it, and made again by a training that is resumed, never checkpointed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch

from tailwright.encoders.dropout import drawing_from
from tailwright.heads.candidate_head import CandidateDrawer, CandidateHead
from tailwright.heads.cluster_head import ClusterHead
from tailwright.training.batches import BatchDrawer, DrawnBatch
from tailwright.training.phases import Phase, Plan
from tailwright.training.weights import Arrays
from tailwright.training.workplace import Workplace

# (batch, width): the vectors of a batch's texts that a head scores.
Encode: TypeAlias = Callable[[DrawnBatch], torch.Tensor]
Made = TypeVar("Made")


class ClusterPhase(Phase):
    """A surrogate task: tells the clusters of a row's labels from all clusters."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        draw: BatchDrawer,
        encode: Encode,
        head: ClusterHead,
        cluster_of: Callable[[], np.ndarray],
        *,
        binary: bool,
    ) -> None:
        """`cluster_of` gives the cluster of each label (labels,); `binary` makes all cluster targets 1."""
        super().__init__(name, len(draw.targets), plan)
        self.draw, self.encode, self.head, self.binary = draw, encode, head, binary
        self._cluster_of = cluster_of

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        batch = self.draw(rows, random)
        with drawing_from(random):
            queries = self.encode(batch)
        targets = batch.targets.of_groups(self._cluster_of(), len(self.head.table))
        if self.binary:
            targets = targets.binary()
        loss: torch.Tensor = self.head(queries, targets)
        return loss


class CandidatePhase(Phase):
    """Tells a row's labels from its shortlist and from labels at random."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        draw: BatchDrawer,
        encode: Encode,
        head: CandidateHead,
        shortlists: Callable[[], np.ndarray],
        candidates: CandidateDrawer,
        watch: Callable[[], Mapping[str, float]],
    ) -> None:
        """`shortlists` gives the labels listed for each training row (rows, listed), -1 for none."""
        super().__init__(name, len(draw.targets), plan, watch=watch)
        self.draw, self.encode, self.head, self.candidates = draw, encode, head, candidates
        self._shortlists = shortlists

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        shortlists = self._shortlists()[rows]
        batch = self.draw(rows, random)
        random_labels = self.candidates.random_labels(len(rows), random)
        with drawing_from(random):
            queries = self.encode(batch)
        candidates = self.candidates(batch.targets, shortlists, random_labels, random)
        loss: torch.Tensor = self.head(queries, candidates)
        return loss


class Intermediates:
    """What is made between the phases of a network, held until another network asks for the same."""

    def __init__(self, work: Workplace) -> None:
        self._work, self._owner = work, ""
        self._held: dict[str, Any] = {}

    def get(self, owner: str, name: str, make: Callable[[], Made]) -> Made:
        """What `make` gives, made once for each owner and logged as a phase."""
        if owner != self._owner:
            self._held, self._owner = {}, owner
        if name not in self._held:
            with self._work.phase(f"{owner} {name}"):
                made = make()
            self._held[name] = made
        held: Made = self._held[name]
        return held

    def drop(self, *names: str) -> None:
        """Forget those of these names, or all."""
        for name in names or list(self._held):
            self._held.pop(name, None)
