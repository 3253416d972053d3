"""The phases of classifiers with clusters and shortlists, and what lies between phases.

| phase | trains | on |
|---|---|---|
| `ClusterPhase` | what encodes texts | clusters of labels, all of them scored for each row |
| `CandidatePhase` | a vector a label | a row's positives, its shortlist, labels at random |
| `BeamPhase` | what makes vectors of texts and labels | the labels of the clusters in a row's beam |

What a phase needs of those before it (clusters, vectors, shortlists) is a function of frozen weights. It is
made when the phase first asks for it, and made again by a training that is resumed, never checkpointed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch

from tailwright.data.batch_targets import TargetRows, rows_of
from tailwright.data.dataset import Dataset
from tailwright.encoders.dropout import drawing_from
from tailwright.heads.candidate_head import CandidateDrawer, CandidateHead, candidate_loss
from tailwright.heads.cluster_beam import BeamCandidates
from tailwright.heads.cluster_head import cluster_loss
from tailwright.kernels.csr import number_locally
from tailwright.training.batches import BatchDrawer, DrawnBatch
from tailwright.training.named_arrays import Arrays
from tailwright.training.phases import Phase, Plan
from tailwright.training.schedules import PhaseSettings, batch_for
from tailwright.training.workplace import Workplace

ROWS_A_BLOCK = 4096
# (batch, width): the vectors of a batch's texts that a head scores.
Encode: TypeAlias = Callable[[DrawnBatch], torch.Tensor]
# (batch, n) and (asked, n): the vectors of a batch's texts and of the clusters or labels that are asked for.
Score: TypeAlias = Callable[[DrawnBatch, np.ndarray], tuple[torch.Tensor, torch.Tensor]]
Made = TypeVar("Made")


class ClusterPhase(Phase):
    """A surrogate task: tells the clusters of a row's labels from all clusters."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        draw: BatchDrawer,
        score: Score,
        cluster_of: Callable[[], np.ndarray],
        clusters: int,
        *,
        binary: bool,
        begin: Callable[[], None] | None = None,
    ) -> None:
        """`cluster_of` gives the cluster of each label (labels,); `binary` makes all cluster targets 1."""
        super().__init__(name, len(draw.targets), plan, begin=begin)
        self.draw, self.score, self.clusters, self.binary = draw, score, clusters, binary
        self._cluster_of = cluster_of

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        batch = self.draw(rows, random)
        targets = batch.targets.of_groups(self._cluster_of(), self.clusters)
        if self.binary:
            targets = targets.binary()
        with drawing_from(random):
            rows_and_clusters = self.score(batch, np.arange(self.clusters, dtype=np.int32))
        return cluster_loss(*rows_and_clusters, targets)


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


class BeamPhase(Phase):
    """Tells a row's labels from the others of the clusters in its beam.

    The loss is the mean over the cells (batch, labels of the longest list); cells behind the end of a list
    are without loss.
    """

    def __init__(
        self,
        name: str,
        plan: Plan,
        draw: BatchDrawer,
        score: Score,
        beams: Callable[[], np.ndarray],
        candidates: Callable[[], BeamCandidates],
        *,
        begin: Callable[[], None],
        watch: Callable[[], Mapping[str, float]],
    ) -> None:
        """`beams` gives the clusters of each training row (rows, beam), -1 for none."""
        super().__init__(name, len(draw.targets), plan, watch=watch, begin=begin)
        self.draw, self.score = draw, score
        self._beams, self._candidates = beams, candidates
        self._scratch = np.full(draw.targets.labels, -1, dtype=np.int32)

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        batch = self.draw(rows, random)
        lists = self._candidates()(batch.targets, self._beams()[rows])
        labels, places = number_locally(lists.labels, self._scratch)
        with drawing_from(random):
            queries, table = self.score(batch, labels)
        longest = max(int(np.diff(lists.starts).max(initial=0)), 1)
        return candidate_loss(queries, table, replace(lists, labels=places)) / longest


def phase_plan(phase: PhaseSettings, rows: int, batch: int, *modules: str) -> Plan:
    """The plan of a phase over so many rows that trains these modules of the network."""
    batch = batch_for(rows, batch)
    return Plan(phase.epochs, batch, dict.fromkeys(modules, phase.rate_for(rows, batch)), phase.schedule())


def reach(data: Dataset, beams: np.ndarray, candidates: BeamCandidates) -> dict[str, float]:
    """The share of the pairs with a target that are candidates of their row, in percent, for a log.

    `made` is that of rows that an augmentation made, where there are some.
    """
    targets, reached = TargetRows(data), np.zeros(len(data))
    for start in range(0, len(data), ROWS_A_BLOCK):
        rows = np.arange(start, min(start + ROWS_A_BLOCK, len(data)))
        lists = candidates(targets(rows), beams[rows])
        reached[rows] = np.bincount(rows_of(lists.starts)[lists.targets > 0], minlength=len(rows))
    pairs, made = np.diff(data.targets.indptr), ~data.origin.is_original()
    shares = {"reached": 100 * float(reached.sum()) / max(int(pairs.sum()), 1)}
    if made.any():
        shares["made"] = 100 * float(reached[made].sum()) / max(int(pairs[made].sum()), 1)
    return {name: round(share, 2) for name, share in shares.items()}


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
