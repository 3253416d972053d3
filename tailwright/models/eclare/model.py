"""`Eclare`: trains the surrogate task and the learners; keeps the graphs that they pass probability over."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from torch import nn

from tailwright.data.corpus import Corpus
from tailwright.encoders.residual import ScaledResidual
from tailwright.encoders.text_tower import TextTower
from tailwright.labels import GraphSettings
from tailwright.labels.graph_texts import with_self_edges
from tailwright.labels.heads_apart import leaf_counts
from tailwright.labels.shared import graph_of_originals
from tailwright.models import models
from tailwright.models.eclare import CARD, EclareSettings
from tailwright.models.eclare.network import EclareNetwork, EclareSurrogate, GraphLearner
from tailwright.models.eclare.phases import EclareLabels, LearnerTraining, SurrogateTraining
from tailwright.models.shared.bag_rows import BagRows
from tailwright.models.shared.beam_model import FLOAT, BeamModel, learner_seed
from tailwright.pretrained.word_vectors import word_vectors
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.training.batches import BatchDrawer
from tailwright.training.loop import run_phases
from tailwright.training.memory import MemoryNeed
from tailwright.training.module_network import ModuleNetwork
from tailwright.training.schedules import batch_for
from tailwright.training.shortlist_phases import Intermediates
from tailwright.training.threads import torch_threads
from tailwright.training.workplace import Workplace


@models.register
class Eclare(BeamModel):
    """Decaf with a label graph: neighbours' texts make classifiers, and pass on probability."""

    card = CARD
    Settings = EclareSettings

    learners: list[GraphLearner]  # type: ignore[assignment]

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        settings: EclareSettings = self.settings
        rows = self.read_rows(corpus, seed, work)
        if rows.mixes:
            problem = (
                "augmentations of batches reach the surrogate phase alone: words are frozen in the others"
            )
            work.log("batch door", phases=["surrogate"], problem=problem)
        with work.phase("label graph"):
            labels = self._labels(corpus, rows, seed)
        count = labels.clusters
        need = memory_need(rows.matrix, rows.targets, count, settings)
        need.announce(work, "a smaller width (--set width=100) or a higher --set min_count needs less")
        vectors = word_vectors(self.features.vocabulary, settings.width, settings.vectors, seed=seed)
        bare = bool((rows.label_matrix.sum(axis=1) == 0).any())
        surrogate = EclareSurrogate(vectors, count, settings.dropout, seed, free=bare)
        # Before its users: parameters have the name of the first module that they are found in.
        between, networks = Intermediates(work), nn.ModuleDict({"surrogate": surrogate})
        phases = [SurrogateTraining(surrogate, rows, labels, between, settings, seed).phase()]
        trainings = []
        for number in range(settings.learners):
            name, own_seed = f"learner-{number + 1}", learner_seed(seed, number)
            network = EclareNetwork(surrogate.texts.words, count, rows.data.labels, settings, own_seed)
            networks[name] = network
            training = LearnerTraining(
                network,
                surrogate,
                labels,
                rows,
                BatchDrawer(rows.data),
                between,
                settings,
                name=name,
                seed=own_seed,
                clusters=count,
                work=work,
            )
            trainings.append(training)
            phases += training.phases()
        with torch_threads():
            run_phases(ModuleNetwork(networks), phases, seed=seed, work=work)
            self.learners = [training.learner() for training in trainings]
            between.drop()

    def _labels(self, corpus: Corpus, rows: BagRows, seed: int) -> EclareLabels:
        settings: EclareSettings = self.settings
        walk, clusters = settings.graph, settings.clusters
        graph = GraphSettings(walk.steps, walk.restart, walk.top, walk.head_cut)
        edges = with_self_edges(graph_of_originals(corpus.train, graph, seed))
        described = self.described(rows)
        frequent = (corpus.labels.counts > clusters.apart) & described
        numbers = int(np.count_nonzero(described & ~frequent)), int(np.count_nonzero(frequent))
        return EclareLabels(edges, frequent, leaf_counts(*numbers, clusters.count, clusters.labels_each))

    def new_residual(self) -> nn.Module:
        settings: EclareSettings = self.settings
        return ScaledResidual(settings.width, settings.dropout, 0, "eclare/saved")

    def towers(self, words: int) -> tuple[TextTower, TextTower]:
        both = self._no_vectors(words)  # clusters and labels are scored under the same words
        return self._tower(both), self._tower(both)

    def save(self, folder: FolderWriter) -> None:
        super().save(folder)
        for number, learner in enumerate(self.learners):
            folder.csr(f"learner-{number + 1}-cluster-graph", learner.of_clusters)
            folder.csr(f"learner-{number + 1}-label-graph", learner.of_labels)

    def load(self, folder: FolderReader, labels: int) -> None:
        super().load(folder, labels)
        learners = []
        for number, learner in enumerate(self.learners):
            graphs = []
            for kind, size in (("cluster", len(learner.head.members)), ("label", labels)):
                name = f"learner-{number + 1}-{kind}-graph"
                graph = folder.csr(name, dtype=np.float32, shape=(size, size))
                if not bool(np.isfinite(graph.data).all() and (graph.data >= 0).all()):
                    raise DamagedFolderError(
                        f"{name} holds a number", expected="numbers >= 0", path=folder.path
                    )
                graphs.append(graph)
            learners.append(GraphLearner(learner.meta, learner.extreme, learner.head, *graphs).eval())
        self.learners = learners


def memory_need(
    matrix: sparse.csr_array, targets: sparse.csr_array, clusters: int, settings: EclareSettings
) -> MemoryNeed:
    """What training adds to the process: all tables, and moments and passes of the phase that has most."""
    (rows, words), labels = matrix.shape, targets.shape[1]
    width, batch, beam = settings.width * FLOAT, batch_for(rows, settings.batch), settings.beam
    # Of a label's pass: two residual layers, the attention over three components, and their gradients.
    surrogate = 2 * (words + clusters) * width + 24 * clusters * width
    candidates = min(labels, batch * beam.longest)
    over_labels = 2 * labels * width + 30 * max(candidates, clusters) * width
    return MemoryNeed(
        {
            "word vectors": 3 * words * width,
            "label vectors": settings.learners * 2 * (labels + clusters) * width + 3 * labels * width,
            "moments and passes over label texts": max(surrogate, over_labels),
            "vectors of the rows": rows * width,
            "the clusters of the rows": rows * min(2 * beam.size, clusters) * FLOAT,
            "a batch": 12 * batch * beam.longest,
        }
    )
