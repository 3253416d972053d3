"""How `eclare` is trained: the surrogate phase, then two phases for each learner, and what lies between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse

from tailwright.encoders.bags import Bags
from tailwright.heads.cluster_beam import BeamCandidates, BeamHead, neighbour_table
from tailwright.labels.cluster_texts import cluster_texts, describing_pairs, label_sums
from tailwright.labels.correlation import symmetric_graph
from tailwright.labels.graph_texts import cluster_graph, of_similar_texts, strongest
from tailwright.labels.heads_apart import clusters_apart
from tailwright.labels.vectors import unit_rows
from tailwright.models.eclare import EclareSettings
from tailwright.models.eclare.network import EclareNetwork, EclareSurrogate, GraphLearner
from tailwright.models.shared.bag_rows import BagRows
from tailwright.models.shared.beam_training import BeamTraining
from tailwright.training.batches import BatchDrawer, DrawnBatch
from tailwright.training.phases import Phase
from tailwright.training.shortlist_phases import ClusterPhase, Intermediates, phase_plan


@dataclass(frozen=True, eq=False)
class EclareLabels:
    """What is known of labels before anything is learnt."""

    graph: sparse.csr_array  # (labels, labels): visits of random walks over original rows
    frequent: np.ndarray  # (labels,) bool: the labels that are clustered by themselves
    leaves: tuple[int, int]  # the clusters of the other labels, and of the frequent ones

    @property
    def clusters(self) -> int:
        return sum(self.leaves)


class GraphClusters(NamedTuple):
    """The clusters of labels, what is written of each, and the graph between them."""

    cluster_of: np.ndarray  # (labels,) int32, -1 for a label in none
    own: Bags  # one for each cluster
    graph: sparse.csr_array  # (clusters, clusters), symmetric
    neighbours: Bags  # the graph's rows
    bare: np.ndarray  # clusters without a text, whose neighbours have none either

    @staticmethod
    def of(cluster_of: np.ndarray, rows: BagRows, labels: EclareLabels, top: int) -> GraphClusters:
        """From the graph of the labels in their clusters, the `top` strongest edges of each cluster."""
        texts = cluster_texts(rows.label_matrix, cluster_of, labels.clusters)
        graph = symmetric_graph(cluster_graph(labels.graph, cluster_of, labels.clusters, top))
        own, neighbours = Bags.of(texts), Bags.of(graph)
        words = np.diff(own.indptr).astype(np.float32)[:, None]
        return GraphClusters(
            cluster_of, own, graph, neighbours, np.flatnonzero(neighbours.sum(words)[:, 0] == 0)
        )


class SurrogateTraining:
    """The surrogate task, which teaches word vectors by clusters of labels."""

    name = "surrogate"

    def __init__(
        self,
        network: EclareSurrogate,
        rows: BagRows,
        labels: EclareLabels,
        between: Intermediates,
        settings: EclareSettings,
        seed: int,
    ) -> None:
        self.network, self.rows, self.labels, self.settings, self.seed = network, rows, labels, settings, seed
        self._between = between

    def phase(self) -> Phase:
        settings, data = self.settings, self.rows.data
        return ClusterPhase(
            self.name,
            phase_plan(settings.surrogate, len(data), settings.batch, self.name),
            BatchDrawer(data, self.rows.mixes),
            self._score,
            lambda: self.clusters().cluster_of,
            self.labels.clusters,
            binary=settings.clusters.targets == "binary",
        )

    def _score(self, batch: DrawnBatch, _: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        texts, clusters = self.rows.texts.take(batch.rows, batch.appended), self.clusters()
        scored: tuple[torch.Tensor, torch.Tensor]
        scored = self.network(texts, clusters.own, clusters.neighbours, clusters.bare)
        return scored

    def clusters(self) -> GraphClusters:
        """By the words of the labels' rows, smoothed over the graph."""
        rows, labels, settings = self.rows, self.labels, self.settings

        def make() -> GraphClusters:
            pairs = describing_pairs(rows.data, settings.clusters.rows)
            vectors = strongest(label_sums(pairs, rows.matrix, rows.label_matrix), settings.clusters.words)
            smooth = sparse.csr_array(symmetric_graph(labels.graph) @ vectors)
            smooth = strongest(smooth, settings.clusters.words)
            cluster_of = clusters_apart(smooth, labels.frequent, labels.leaves, self.seed)
            return GraphClusters.of(cluster_of, rows, labels, settings.graph.top)

        return self._between.get(self.name, "clusters", make)


class LabelSums(NamedTuple):
    """The labels under frozen words: their graph, and the sums of their words and of their neighbours'."""

    graph: sparse.csr_array  # (labels, labels), symmetric
    own: np.ndarray  # (labels, width)
    near: np.ndarray  # (labels, width)


class LearnerTraining(BeamTraining):
    """One learner, under the frozen word vectors of the surrogate task."""

    network: EclareNetwork

    def __init__(
        self,
        network: EclareNetwork,
        surrogate: EclareSurrogate,
        labels: EclareLabels,
        *shared: Any,
        **own: Any,
    ) -> None:
        """The other arguments are those of `BeamTraining`."""
        super().__init__(*shared, **own)
        self.network, self.surrogate, self.labels = network, surrogate, labels

    def pruned(self) -> EclareLabels:
        """The labels, with no edges between those of dissimilar texts."""
        words, labels = self.surrogate.texts.words.table.array, self.labels

        def make() -> EclareLabels:
            texts = unit_rows(self.rows.texts.others.sum(words))
            graph = of_similar_texts(labels.graph, texts, self.settings.similar)
            return EclareLabels(graph, labels.frequent, labels.leaves)

        return self.between.get(self.name, "graph", make)

    def sums(self) -> LabelSums:
        words = self.surrogate.texts.words.table.array

        def make() -> LabelSums:
            graph = symmetric_graph(self.pruned().graph)
            own = self.rows.texts.others.sum(words)
            return LabelSums(graph, own, Bags.of(graph).sum(own))

        return self.between.get(self.name, "label texts", make)

    def clusters(self) -> GraphClusters:
        """By the vectors of the labels' rows, smoothed over the graph."""
        rows, words = self.rows, self.surrogate.texts.words.table.array

        def make() -> GraphClusters:
            pairs = describing_pairs(rows.data, self.settings.clusters.rows)
            texts = [unit_rows(bags.sum(words)) for bags in (rows.texts.rows, rows.texts.others)]
            smooth = self.sums().graph @ label_sums(pairs, *texts)
            labels = self.pruned()
            cluster_of = clusters_apart(smooth, labels.frequent, labels.leaves, self.seed)
            return GraphClusters.of(cluster_of, rows, labels, self.settings.graph.top)

        return self.between.get(self.name, "clusters", make)

    def cluster_sums(self) -> tuple[np.ndarray, np.ndarray]:
        """(clusters, width) each: the sums of the words of clusters, and of those of their neighbours."""
        words, clusters = self.surrogate.texts.words.table.array, self.clusters()

        def make() -> tuple[np.ndarray, np.ndarray]:
            own = clusters.own.sum(words)
            return own, clusters.neighbours.sum(own)

        return self.between.get(self.name, "cluster texts", make)

    def cluster_of(self) -> np.ndarray:
        return self.clusters().cluster_of

    def begin_meta(self) -> None:
        self.network.meta.start(self.cluster_sums()[1])

    def begin_extreme(self) -> None:
        self.network.extreme.start(self.sums().near)

    def score_clusters(self, batch: DrawnBatch, ids: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        texts = self.rows.texts.rows.take(batch.rows)
        scored: tuple[torch.Tensor, torch.Tensor] = self.network.meta(texts, *self.cluster_sums(), ids)
        return scored

    def score_labels(self, batch: DrawnBatch, ids: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        texts, sums = self.rows.texts.rows.take(batch.rows), self.sums()
        scored: tuple[torch.Tensor, torch.Tensor]
        scored = self.network.extreme(texts, sums.own[ids], sums.near[ids], ids)
        return scored

    def new_candidates(self) -> BeamCandidates:
        beam = self.settings.beam
        return BeamCandidates(
            self.cluster_of(),
            self.count,
            adds_missed=beam.missed == "added",
            binary=beam.targets == "binary",
            neighbours=neighbour_table(self.sums().graph),
            most=beam.longest,
        )

    def learner(self) -> GraphLearner:
        clusters, sums = self.clusters(), self.sums()
        meta, extreme = self.network.meta.eval(), self.network.extreme.eval()
        tables = meta.table(*self.cluster_sums()), extreme.table(sums.own, sums.near)
        head = BeamHead(*tables, clusters.cluster_of)
        return GraphLearner(meta.texts, extreme.texts, head, clusters.graph, sums.graph).eval()
