"""`BeamModel`: what models of several learners, each with a beam over clusters of labels, share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from torch import nn

from tailwright.data.corpus import Corpus
from tailwright.data.text.tfidf import TfIdf
from tailwright.encoders.bags import Bags
from tailwright.encoders.embedding_bags import EmbeddingBags
from tailwright.encoders.text_tower import TextTower
from tailwright.evaluation.ranking import TopK
from tailwright.heads.cluster_beam import BeamHead, mean_probabilities
from tailwright.heads.shortlist import empty_lists
from tailwright.labels.vectors import unit_rows
from tailwright.models import Model
from tailwright.models.shared.bag_rows import BagRows, bag_rows, word_features
from tailwright.models.shared.beam_learner import BeamLearner
from tailwright.models.shared.text_blocks import text_blocks
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.streams import stream
from tailwright.training.threads import torch_threads
from tailwright.training.weights import load_weights, save_weights
from tailwright.training.workplace import Workplace

FLOAT = 4  # bytes


class BeamModel(Model):
    """Learners whose probabilities are averaged.

    A saved learner has the vectors of its clusters and labels, not what they were made of.
    """

    features: TfIdf
    learners: list[BeamLearner]

    @abstractmethod
    def new_residual(self) -> nn.Module:
        """The residual layer of a tower, whose weights are loaded."""

    def towers(self, words: int) -> tuple[TextTower, TextTower]:
        """Those for clusters and for labels, whose weights are loaded, over so many words."""
        return self._tower(self._no_vectors(words)), self._tower(self._no_vectors(words))

    def _no_vectors(self, words: int) -> EmbeddingBags:
        return EmbeddingBags(np.zeros((words, self.settings.width), dtype=np.float32))

    def _tower(self, words: EmbeddingBags) -> TextTower:
        return TextTower(words, self.new_residual(), self.settings.dropout)

    def read_rows(self, corpus: Corpus, seed: int, work: Workplace) -> BagRows:
        """The training rows, and the features made of them."""
        with work.phase("features"):
            self.features, matrix, label_matrix = word_features(corpus, self.settings.min_count)
        mixes = self.batch_mixes(corpus, seed=seed, work=work)
        return bag_rows(corpus, self.features, matrix, label_matrix, mixes, self.watch)

    def described(self, rows: BagRows) -> np.ndarray:
        """(labels,) bool: the labels that have rows or texts, by which they are clustered."""
        carried = np.bincount(rows.targets.indices, minlength=rows.data.labels) > 0
        return carried | (np.diff(rows.label_matrix.indptr) > 0)

    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        rankings, beam = [empty_lists(0, k)], self.settings.beam.size
        with torch_threads():
            for block in text_blocks(texts, self.card.name):
                bags = Bags.of(self.features.transform(block))
                of_learners = [
                    learner.ranked(bags, learner.best_clusters(bags, beam), max(beam, k))
                    for learner in self.learners
                ]
                rankings.append(mean_probabilities(of_learners, len(self.learners[0].head.cluster_of), k))
        return TopK.concat(rankings)

    def knows(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray:
        return self.features.knows(texts)

    def text_vectors(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray:
        """The sums of the word vectors that labels are scored with; those of learners stand side by side."""
        blocks = [np.empty((0, self.settings.width * len(self.learners)), dtype=np.float32)]
        with torch_threads():
            for block in text_blocks(texts, self.card.name):
                bags = Bags.of(self.features.transform(block))
                sums = [unit_rows(bags.sum(one.extreme.words.table.array)) for one in self.learners]
                blocks.append(unit_rows(np.concatenate(sums, axis=1)))
        return np.concatenate(blocks)

    def save(self, folder: FolderWriter) -> None:
        self.features.save(folder.sub("features"))
        folder.json("learners.json", {"clusters": [len(one.head.members) for one in self.learners]})
        for number, learner in enumerate(self.learners):
            folder.array(f"learner-{number + 1}-clusters", learner.head.cluster_of)
            save_weights(folder, f"learner-{number + 1}", learner)

    def load(self, folder: FolderReader, labels: int) -> None:
        self.features = TfIdf.load(folder.sub("features"))
        counts = folder.json("learners.json").get("clusters")
        # A cluster has a row of float32 in the weights: before any table is made, no more can be there.
        most = folder.tensor_bytes() // (4 * (self.settings.width + 1))
        whole = isinstance(counts, list) and all(type(count) is int and 0 < count <= most for count in counts)
        if not whole or len(counts) != self.settings.learners:
            path = folder.path / "learners.json"
            raise DamagedFolderError("clusters", expected="a number for each learner", path=path)
        self.learners = []
        for number, clusters in enumerate(counts):
            name = f"learner-{number + 1}"
            cluster_of = folder.array(f"{name}-clusters", dtype=np.int32, shape=(labels,))
            if len(cluster_of) and not (cluster_of.min() >= -1 and cluster_of.max() < clusters):
                path = folder.path / f"{name}-clusters.npy"
                raise DamagedFolderError("a cluster", expected=f"-1 to {clusters - 1}", path=path)
            learner = self._untrained(clusters, cluster_of)
            load_weights(folder, name, learner)
            self.learners.append(learner.eval())

    def _untrained(self, clusters: int, cluster_of: np.ndarray) -> BeamLearner:
        tables = [np.zeros((n, self.settings.width + 1), np.float32) for n in (clusters, len(cluster_of))]
        head = BeamHead(tables[0], tables[1], cluster_of)
        return BeamLearner(*self.towers(len(self.features.vocabulary)), head)


def learner_seed(seed: int, learner: int) -> int:
    """The seed of one learner of an ensemble."""
    return int(stream(seed, "beam/learner", learner).integers(2**31))
