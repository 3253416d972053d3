"""`Astec`: trains its learners, adds up their scores, keeps them in a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse
from torch import nn

from tailwright.data.corpus import Corpus
from tailwright.data.text.tfidf import TfIdf
from tailwright.encoders.bags import Bags
from tailwright.evaluation.ranking import TopK
from tailwright.heads.shortlist import Shortlister, empty_lists, weighted_sum
from tailwright.labels.surrogate_clusters import cluster_count
from tailwright.labels.vectors import unit_rows
from tailwright.models import Model, models
from tailwright.models.astec import CARD, AstecSettings
from tailwright.models.astec.network import AstecNetwork
from tailwright.models.astec.phases import LearnerTraining
from tailwright.models.shared.bag_rows import BagRows, bag_rows, word_features
from tailwright.models.shared.text_blocks import text_blocks
from tailwright.pretrained.word_vectors import word_vectors
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.streams import stream
from tailwright.training.loop import run_phases
from tailwright.training.memory import MemoryNeed
from tailwright.training.module_network import ModuleNetwork
from tailwright.training.schedules import batch_for
from tailwright.training.shortlist_phases import Intermediates
from tailwright.training.threads import torch_threads
from tailwright.training.weights import load_weights, save_weights
from tailwright.training.workplace import Workplace

FLOAT = 4  # bytes


class AstecLearner(NamedTuple):
    """A trained network and the training rows that it lists labels by."""

    network: AstecNetwork
    shortlister: Shortlister

    def ranked(self, bags: Bags, excluded: sparse.csr_array | None) -> TopK:
        """The labels of each text with the fused score, best first."""
        vectors = self.network.encoder.vectors(bags)
        return self.network.ranked(bags, vectors, self.shortlister.lists(vectors), excluded)


@models.register
class Astec(Model):
    """Shortlists by similarity, reranked by classifiers over labels."""

    card = CARD
    Settings = AstecSettings

    features: TfIdf
    rows: sparse.csr_array  # (training rows, words): what shortlists search among
    targets: sparse.csr_array  # (training rows, labels): targets times row weights
    seed: int
    learners: list[AstecLearner]

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        settings: AstecSettings = self.settings
        rows = self._rows(corpus, seed, work)
        described = int(np.count_nonzero(corpus.labels.counts))
        clusters = cluster_count(described, settings.clusters.count, settings.clusters.labels_each)
        need = memory_need(rows.matrix, rows.targets, clusters, settings)
        need.announce(work, "a smaller width (--set width=100) or a higher --set min_count needs less")
        between, networks, phases = Intermediates(work), nn.ModuleDict(), []
        for number in range(settings.learners):
            name, own_seed = f"learner-{number + 1}", learner_seed(seed, number)
            vectors = word_vectors(self.features.vocabulary, settings.width, settings.vectors, seed=own_seed)
            network = AstecNetwork(vectors, clusters, len(corpus.labels), settings, own_seed)
            networks[name] = network
            phases += LearnerTraining(network, rows, between, name, own_seed).phases()
        with torch_threads():
            run_phases(ModuleNetwork(networks), phases, seed=seed, work=work)
            between.drop()
            self.rows, self.targets, self.seed = rows.matrix, rows.targets, seed
            self._settle([network for network in networks.values() if isinstance(network, AstecNetwork)])

    def _settle(self, networks: Sequence[AstecNetwork]) -> None:
        """Make learners of trained networks, which list labels by the training rows."""
        bags, self.learners = Bags.of(self.rows), []
        for number, network in enumerate(networks):
            network.surrogate = None
            vectors, seed = network.encoder.vectors(bags), learner_seed(self.seed, number)
            shortlister = Shortlister(vectors, self.targets, self.settings.shortlist, seed)
            self.learners.append(AstecLearner(network, shortlister))

    def _rows(self, corpus: Corpus, seed: int, work: Workplace) -> BagRows:
        with work.phase("features"):
            self.features, matrix, label_matrix = word_features(corpus, self.settings.min_count)
        mixes = self.batch_mixes(corpus, seed=seed, work=work)
        return bag_rows(corpus, self.features, matrix, label_matrix, mixes, self.watch)

    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        return self.predict_besides(texts, k, None)

    def predict_besides(
        self, texts: pa.LargeStringArray | Sequence[str], k: int, excluded: sparse.csr_array | None
    ) -> TopK:
        rankings, start, labels = [empty_lists(0, k)], 0, int(self.targets.shape[1])
        for bags in self._read(texts):
            barred = None if excluded is None else excluded[start : start + len(bags)]
            of_learners = [learner.ranked(bags, barred) for learner in self.learners]
            rankings.append(weighted_sum(of_learners, [1.0] * len(of_learners), labels, k))
            start += len(bags)
        return TopK.concat(rankings)

    def knows(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray:
        return self.features.knows(texts)

    def text_vectors(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray:
        """The vectors that shortlists are found by; those of several learners stand side by side."""
        blocks = [np.empty((0, self.settings.width * len(self.learners)), dtype=np.float32)]
        for bags in self._read(texts):
            vectors = [unit_rows(learner.network.encoder.vectors(bags)) for learner in self.learners]
            blocks.append(unit_rows(np.concatenate(vectors, axis=1)))
        return np.concatenate(blocks)

    def _read(self, texts: pa.LargeStringArray | Sequence[str]) -> Iterator[Bags]:
        """Blocks of texts as bags of words."""
        with torch_threads():
            yield from map(self._bags, text_blocks(texts, "astec"))

    def _bags(self, texts: pa.LargeStringArray) -> Bags:
        return Bags.of(self.features.transform(texts))

    def save(self, folder: FolderWriter) -> None:
        self.features.save(folder.sub("features"))
        folder.json("astec.json", {"seed": self.seed})
        folder.csr("rows", self.rows)
        folder.csr("targets", self.targets)
        for number, learner in enumerate(self.learners):
            save_weights(folder, f"learner-{number + 1}", learner.network)

    def load(self, folder: FolderReader, labels: int) -> None:
        settings: AstecSettings = self.settings
        self.features = TfIdf.load(folder.sub("features"))
        words = len(self.features.vocabulary)
        self.rows = folder.csr("rows", dtype=np.float32, shape=(None, words))
        self.targets = folder.csr("targets", dtype=np.float32, shape=(self.rows.shape[0], labels))
        for name, matrix in (("rows", self.rows), ("targets", self.targets)):
            if not bool(np.isfinite(matrix.data).all() and (matrix.data > 0).all()):
                raise DamagedFolderError(f"{name} hold a number", expected="numbers > 0", path=folder.path)
        self.seed = folder.json("astec.json").get("seed")
        if type(self.seed) is not int:
            raise DamagedFolderError("a seed", expected="a whole number", path=folder.path / "astec.json")
        networks = []
        for number in range(settings.learners):
            untrained = np.zeros((words, settings.width), dtype=np.float32)
            network = AstecNetwork(untrained, 0, labels, settings, self.seed)
            load_weights(folder, f"learner-{number + 1}", network)
            networks.append(network.eval())
        with torch_threads():
            self._settle(networks)


def learner_seed(seed: int, learner: int) -> int:
    """The seed of one learner of an ensemble."""
    return int(stream(seed, "astec/learner", learner).integers(2**31))


def memory_need(
    matrix: sparse.csr_array, targets: sparse.csr_array, clusters: int, settings: AstecSettings
) -> MemoryNeed:
    """What training adds to the process: all tables, and moments and lists of the phase that has most."""
    (rows, words), labels = matrix.shape, targets.shape[1]
    width, batch = settings.width * FLOAT, batch_for(rows, settings.batch)
    reranks, size = bool(settings.rerank.epochs), settings.candidates.size
    networks = 2 if reranks else 1
    surrogate = 2 * (words + clusters) * width
    # Ids and similarities of a list, and the ids once more while blocks of them are put together.
    extreme = 2 * labels * width + 3 * rows * min(settings.shortlist.size, labels) * FLOAT
    rerank = 2 * (words + labels) * width + rows * min(settings.stored, labels) * FLOAT
    block = min(labels, batch * size)
    return MemoryNeed(
        {
            "word vectors": settings.learners * networks * words * width,
            "label vectors": settings.learners * (networks * labels + clusters) * width,
            "moments and shortlists": max(surrogate, extreme, rerank if reranks else 0),
            "vectors of the rows": 2 * rows * width,
            "a batch": max(4 * block * width, 3 * clusters * width) + 12 * batch * size,
        }
    )
