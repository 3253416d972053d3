"""How `decaf` is trained: the surrogate phase, then two phases for each learner, and what lies between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch

from tailwright.encoders.bags import Bags
from tailwright.evaluation.ranking import TopK
from tailwright.heads.cluster_beam import BeamCandidates, BeamHead
from tailwright.labels.cluster_texts import cluster_texts, describing_pairs, label_sums
from tailwright.labels.surrogate_clusters import label_clusters
from tailwright.models.decaf import DecafSettings
from tailwright.models.decaf.network import DecafNetwork, TextClassifier
from tailwright.models.shared.bag_rows import BagRows
from tailwright.models.shared.beam_learner import BeamLearner
from tailwright.training.batches import BatchDrawer, DrawnBatch
from tailwright.training.phases import Phase
from tailwright.training.shortlist_phases import BeamPhase, ClusterPhase, Intermediates, phase_plan, reach
from tailwright.training.watch import Answer, Watch
from tailwright.training.workplace import Workplace


class Clusters(NamedTuple):
    """The clusters of labels, and what is written of each."""

    cluster_of: np.ndarray  # (labels,) int32, -1 for a label in none
    texts: Bags  # one for each cluster

    @staticmethod
    def of(cluster_of: np.ndarray, clusters: int, rows: BagRows) -> Clusters:
        return Clusters(cluster_of, Bags.of(cluster_texts(rows.label_matrix, cluster_of, clusters)))


class SurrogateTraining:
    """The surrogate task, which teaches word vectors by clusters of labels."""

    name = "surrogate"

    def __init__(
        self,
        network: TextClassifier,
        rows: BagRows,
        clusters: int,
        between: Intermediates,
        settings: DecafSettings,
        seed: int,
    ) -> None:
        self.network, self.rows, self.count, self.settings, self.seed = (
            network,
            rows,
            clusters,
            settings,
            seed,
        )
        self._between = between

    def phase(self) -> Phase:
        settings, data = self.settings, self.rows.data
        return ClusterPhase(
            self.name,
            phase_plan(settings.surrogate, len(data), settings.batch, self.name),
            BatchDrawer(data, self.rows.mixes),
            self._score,
            lambda: self.clusters().cluster_of,
            self.count,
            binary=settings.clusters.targets == "binary",
        )

    def _score(self, batch: DrawnBatch, _: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        texts = self.rows.texts.take(batch.rows, batch.appended)
        scored: tuple[torch.Tensor, torch.Tensor] = self.network(texts, self.clusters().texts)
        return scored

    def clusters(self) -> Clusters:
        """By the words of the labels' rows."""
        rows = self.rows

        def make() -> Clusters:
            pairs = describing_pairs(rows.data, self.settings.clusters.rows)
            vectors = label_sums(pairs, rows.matrix, rows.label_matrix)
            return Clusters.of(label_clusters(vectors, self.count, self.seed), self.count, rows)

        return self._between.get(self.name, "clusters", make)


class LearnerTraining:
    """One learner in training. It can be watched from the extreme phase on, when labels have scores."""

    def __init__(
        self,
        network: DecafNetwork,
        surrogate: TextClassifier,
        rows: BagRows,
        between: Intermediates,
        settings: DecafSettings,
        name: str,
        seed: int,
        work: Workplace,
    ) -> None:
        self.network, self.surrogate, self.rows, self.settings = network, surrogate, rows, settings
        self.name, self.seed, self.count = name, seed, len(network.meta.free)
        self._between, self._work = between, work
        self._watch = Watch(rows.watch, self._answer)

    def phases(self) -> list[Phase]:
        """Meta and extreme."""
        settings, data = self.settings, self.rows.data
        mixed = BatchDrawer(data, self.rows.mixes)
        return [
            ClusterPhase(
                f"{self.name} meta",
                phase_plan(settings.meta, len(data), settings.batch, f"{self.name}.meta"),
                mixed,
                self._score_clusters,
                lambda: self.clusters().cluster_of,
                self.count,
                binary=settings.clusters.targets == "binary",
                begin=self._begin_meta,
            ),
            BeamPhase(
                f"{self.name} extreme",
                phase_plan(settings.extreme, len(data), settings.batch, f"{self.name}.extreme"),
                mixed,
                self._score_labels,
                self.beams,
                self.candidates,
                begin=self._begin_extreme,
                watch=self._watched,
            ),
        ]

    def _begin_meta(self) -> None:
        self.network.meta.start(self.surrogate.texts.words.table.array, self.clusters().texts)

    def _begin_extreme(self) -> None:
        self.network.extreme.start(self.network.meta.texts.words.table.array, self.rows.texts.others)

    def _score_clusters(self, batch: DrawnBatch, ids: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        texts = self.rows.texts.take(batch.rows, batch.appended)
        scored: tuple[torch.Tensor, torch.Tensor] = self.network.meta(texts, self.clusters().texts, ids)
        return scored

    def _score_labels(self, batch: DrawnBatch, ids: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        texts, labels = self.rows.texts.take(batch.rows, batch.appended), self.rows.texts.others.take(ids)
        scored: tuple[torch.Tensor, torch.Tensor] = self.network.extreme(texts, labels, ids)
        return scored

    def clusters(self) -> Clusters:
        """By the vectors of the labels' rows, under the word vectors of the surrogate task."""
        rows, words = self.rows, self.surrogate.texts.words.table.array

        def make() -> Clusters:
            pairs = describing_pairs(rows.data, self.settings.clusters.rows)
            vectors = label_sums(pairs, rows.texts.rows.sum(words), rows.texts.others.sum(words))
            return Clusters.of(label_clusters(vectors, self.count, self.seed), self.count, rows)

        return self._between.get(self.name, "clusters", make)

    def candidates(self) -> BeamCandidates:
        """The labels that rows are trained on."""

        def make() -> BeamCandidates:
            beam = self.settings.beam
            return BeamCandidates(
                self.clusters().cluster_of,
                self.count,
                adds_missed=beam.missed == "added",
                binary=beam.targets == "binary",
            )

        return self._between.get(self.name, "candidates", make)

    def beams(self) -> np.ndarray:
        """(rows, beam): the best clusters of each training row."""

        def make() -> np.ndarray:
            learner = self.learner()
            clusters = learner.best_clusters(self.rows.texts.rows, self.settings.beam.size).ids
            reached = reach(self.rows.data, clusters, self.candidates())
            self._work.log("reach", phase=f"{self.name} extreme", **reached)
            return clusters

        return self._between.get(self.name, "beams", make)

    def learner(self) -> BeamLearner:
        """The learner as it is, for predictions."""
        network, clusters = self.network, self.clusters()
        meta, extreme = network.meta.eval(), network.extreme.eval()
        head = BeamHead(
            meta.table(clusters.texts), extreme.table(self.rows.texts.others), clusters.cluster_of
        )
        return BeamLearner(meta.texts, extreme.texts, head)

    def _watched(self) -> Mapping[str, float]:
        return self._watch()

    def _answer(self, texts: pa.LargeStringArray) -> Answer:
        """What the learner says of the watched texts, whose clusters are frozen."""
        bags = self.rows.read(texts)
        clusters = self.learner().best_clusters(bags, self.settings.beam.size)
        return lambda k: self._ranked(bags, clusters, k)

    def _ranked(self, bags: Bags, clusters: TopK, k: int) -> TopK:
        return self.learner().ranked(bags, clusters, k)
