"""How `decaf` is trained: the surrogate phase, then two phases for each learner, and what lies between."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from tailwright.encoders.bags import Bags
from tailwright.heads.cluster_beam import BeamCandidates, BeamHead
from tailwright.labels.cluster_texts import cluster_texts, describing_pairs, label_sums
from tailwright.labels.surrogate_clusters import label_clusters
from tailwright.models.decaf import DecafSettings
from tailwright.models.decaf.network import DecafNetwork, TextClassifier
from tailwright.models.shared.bag_rows import BagRows
from tailwright.models.shared.beam_learner import BeamLearner
from tailwright.models.shared.beam_training import BeamTraining
from tailwright.training.batches import BatchDrawer, DrawnBatch
from tailwright.training.phases import Phase
from tailwright.training.shortlist_phases import ClusterPhase, Intermediates, phase_plan


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


class LearnerTraining(BeamTraining):
    """One learner, whose word vectors start from those of the surrogate task and learn in both phases."""

    network: DecafNetwork

    def __init__(self, network: DecafNetwork, surrogate: TextClassifier, *shared: Any, **own: Any) -> None:
        """The other arguments are those of `BeamTraining`."""
        super().__init__(*shared, **own)
        self.network, self.surrogate = network, surrogate

    def clusters(self) -> Clusters:
        """By the vectors of the labels' rows, under the word vectors of the surrogate task."""
        rows, words = self.rows, self.surrogate.texts.words.table.array

        def make() -> Clusters:
            pairs = describing_pairs(rows.data, self.settings.clusters.rows)
            vectors = label_sums(pairs, rows.texts.rows.sum(words), rows.texts.others.sum(words))
            return Clusters.of(label_clusters(vectors, self.count, self.seed), self.count, rows)

        return self.between.get(self.name, "clusters", make)

    def cluster_of(self) -> np.ndarray:
        return self.clusters().cluster_of

    def begin_meta(self) -> None:
        self.network.meta.start(self.surrogate.texts.words.table.array, self.clusters().texts)

    def begin_extreme(self) -> None:
        self.network.extreme.start(self.network.meta.texts.words.table.array, self.rows.texts.others)

    def score_clusters(self, batch: DrawnBatch, ids: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        texts = self.rows.texts.take(batch.rows, batch.appended)
        scored: tuple[torch.Tensor, torch.Tensor] = self.network.meta(texts, self.clusters().texts, ids)
        return scored

    def score_labels(self, batch: DrawnBatch, ids: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        texts, labels = self.rows.texts.take(batch.rows, batch.appended), self.rows.texts.others.take(ids)
        scored: tuple[torch.Tensor, torch.Tensor] = self.network.extreme(texts, labels, ids)
        return scored

    def new_candidates(self) -> BeamCandidates:
        beam = self.settings.beam
        return BeamCandidates(
            self.cluster_of(),
            self.count,
            adds_missed=beam.missed == "added",
            binary=beam.targets == "binary",
        )

    def learner(self) -> BeamLearner:
        clusters, meta, extreme = self.clusters(), self.network.meta.eval(), self.network.extreme.eval()
        tables = meta.table(clusters.texts), extreme.table(self.rows.texts.others)
        return BeamLearner(meta.texts, extreme.texts, BeamHead(*tables, clusters.cluster_of)).eval()
