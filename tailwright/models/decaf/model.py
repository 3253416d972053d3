"""`Decaf`: trains the surrogate task and the learners."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from torch import nn

from tailwright.data.corpus import Corpus
from tailwright.encoders.residual import GatedResidual
from tailwright.labels.surrogate_clusters import cluster_count
from tailwright.models import models
from tailwright.models.decaf import CARD, DecafSettings
from tailwright.models.decaf.network import DecafNetwork, TextClassifier
from tailwright.models.decaf.phases import LearnerTraining, SurrogateTraining
from tailwright.models.shared.beam_model import FLOAT, BeamModel, learner_seed
from tailwright.pretrained.word_vectors import word_vectors
from tailwright.training.batches import BatchDrawer
from tailwright.training.loop import run_phases
from tailwright.training.memory import MemoryNeed
from tailwright.training.module_network import ModuleNetwork
from tailwright.training.schedules import batch_for
from tailwright.training.shortlist_phases import Intermediates
from tailwright.training.threads import torch_threads
from tailwright.training.workplace import Workplace


@models.register
class Decaf(BeamModel):
    """Classifiers of label texts and free vectors, on the labels of a text's best clusters."""

    card = CARD
    Settings = DecafSettings

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        settings: DecafSettings = self.settings
        rows = self.read_rows(corpus, seed, work)
        described = int(np.count_nonzero(self.described(rows)))
        count = cluster_count(described, settings.clusters.count, settings.clusters.labels_each)
        need = memory_need(rows.matrix, rows.targets, count, settings)
        need.announce(work, "a smaller width (--set width=100) or a higher --set min_count needs less")
        vectors = word_vectors(self.features.vocabulary, settings.width, settings.vectors, seed=seed)
        bare = bool((rows.label_matrix.sum(axis=1) == 0).any())
        dropout = settings.surrogate_dropout
        surrogate = TextClassifier(vectors, count, dropout, seed, "decaf/surrogate", free=bare)
        between, networks = Intermediates(work), nn.ModuleDict({"surrogate": surrogate})
        phases = [SurrogateTraining(surrogate, rows, count, between, settings, seed).phase()]
        trainings = []
        for number in range(settings.learners):
            name, own_seed = f"learner-{number + 1}", learner_seed(seed, number)
            network = DecafNetwork(vectors, count, rows.data.labels, settings, own_seed)
            networks[name] = network
            training = LearnerTraining(
                network,
                surrogate,
                rows,
                BatchDrawer(rows.data, rows.mixes),
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

    def new_residual(self) -> nn.Module:
        settings: DecafSettings = self.settings
        return GatedResidual(settings.width, settings.dropout, 0, "decaf/saved")


def memory_need(
    matrix: sparse.csr_array, targets: sparse.csr_array, clusters: int, settings: DecafSettings
) -> MemoryNeed:
    """What training adds to the process: all tables, and moments and passes of the phase that has most."""
    (rows, words), labels = matrix.shape, targets.shape[1]
    width, batch = settings.width * FLOAT, batch_for(rows, settings.batch)
    # Of a label's pass: sums, branch, mask, gates, vectors, and their gradients.
    over_clusters = 2 * (words + clusters) * width + 12 * clusters * width
    candidates = min(labels, batch * settings.beam.size * -(-labels // max(clusters, 1)))
    over_labels = 2 * (words + labels) * width + 12 * candidates * width
    return MemoryNeed(
        {
            "word vectors": (1 + 2 * settings.learners) * words * width + 2 * words * width,
            "label vectors": settings.learners * 2 * (labels + clusters) * width,
            "moments and passes over label texts": max(over_clusters, over_labels),
            "vectors of the rows": rows * width,
            "the clusters of the rows": rows * min(settings.beam.size, clusters) * FLOAT,
            "a batch": 12 * batch * settings.beam.size * -(-labels // max(clusters, 1)),
        }
    )
