"""`BeamTraining`: the phases of a learner with a beam over clusters, and what lies between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import nn

from tailwright.evaluation.ranking import TopK
from tailwright.heads.cluster_beam import BeamCandidates
from tailwright.models.shared.bag_rows import BagRows
from tailwright.models.shared.beam_learner import BeamLearner
from tailwright.training.batches import BatchDrawer, DrawnBatch
from tailwright.training.phases import Phase
from tailwright.training.shortlist_phases import BeamPhase, ClusterPhase, Intermediates, phase_plan, reach
from tailwright.training.watch import Answer, Watch
from tailwright.training.workplace import Workplace


class BeamTraining(ABC):
    """One learner in training: classifiers of clusters, then of labels.

    It can be watched from the extreme phase on, when labels have scores.
    """

    network: nn.Module

    def __init__(
        self,
        rows: BagRows,
        draw: BatchDrawer,
        between: Intermediates,
        settings: Any,
        *,
        name: str,
        seed: int,
        clusters: int,
        work: Workplace,
    ) -> None:
        """`settings` are those of a model with `meta`, `extreme`, `clusters`, `beam` and `batch`."""
        self.rows, self.draw, self.between, self.settings = rows, draw, between, settings
        self.name, self.seed, self.count = name, seed, clusters
        self._work, self._watch = work, Watch(rows.watch, self._answer)

    @abstractmethod
    def cluster_of(self) -> np.ndarray:
        """(labels,) int32: the cluster of each label, -1 for none."""

    @abstractmethod
    def begin_meta(self) -> None:
        """Set what classifiers of clusters start from."""

    @abstractmethod
    def begin_extreme(self) -> None:
        """Set what classifiers of labels start from."""

    @abstractmethod
    def score_clusters(self, batch: DrawnBatch, ids: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """(batch, n) and (len(ids), n), whose products are the logits of clusters."""

    @abstractmethod
    def score_labels(self, batch: DrawnBatch, ids: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """(batch, n) and (len(ids), n), whose products are the logits of labels."""

    @abstractmethod
    def learner(self) -> BeamLearner:
        """The learner as it is, in evaluation mode, for predictions."""

    @abstractmethod
    def new_candidates(self) -> BeamCandidates:
        """The labels that rows are trained on, from the clusters in their beams."""

    def phases(self) -> list[Phase]:
        """Meta and extreme."""
        settings, rows = self.settings, len(self.rows.data)
        return [
            ClusterPhase(
                f"{self.name} meta",
                phase_plan(settings.meta, rows, settings.batch, f"{self.name}.meta"),
                self.draw,
                self.score_clusters,
                self.cluster_of,
                self.count,
                binary=settings.clusters.targets == "binary",
                begin=self.begin_meta,
            ),
            BeamPhase(
                f"{self.name} extreme",
                phase_plan(settings.extreme, rows, settings.batch, f"{self.name}.extreme"),
                self.draw,
                self.score_labels,
                self.beams,
                self.candidates,
                begin=self.begin_extreme,
                watch=self._watched,
            ),
        ]

    def candidates(self) -> BeamCandidates:
        return self.between.get(self.name, "candidates", self.new_candidates)

    def beams(self) -> np.ndarray:
        """(rows, beam): the best clusters of each training row."""

        def make() -> np.ndarray:
            learns = self.network.training
            clusters = self.learner().best_clusters(self.rows.texts.rows, self.settings.beam.size).ids
            self.network.train(learns)  # else the epoch, or what a resumed one has left, has no dropout
            reached = reach(self.rows.data, clusters, self.candidates())
            self._work.log("reach", phase=f"{self.name} extreme", **reached)
            return clusters

        return self.between.get(self.name, "beams", make)

    def _watched(self) -> Mapping[str, float]:
        return self._watch()

    def _answer(self, texts: pa.LargeStringArray) -> Answer:
        """What the learner says of the watched texts, whose clusters are frozen."""
        bags, beam = self.rows.read(texts), self.settings.beam.size
        clusters = self.learner().best_clusters(bags, beam)

        def answer(k: int) -> TopK:
            top = self.learner().ranked(bags, clusters, max(beam, k))
            return TopK(top.ids[:, :k], top.scores[:, :k])

        return answer
