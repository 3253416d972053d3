"""A trained `astec` learner: how it answers, and how it is kept in a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tailwright.encoders.bags import Bags
from tailwright.encoders.residual import Residual
from tailwright.evaluation.ranking import TopK
from tailwright.heads.shortlist import Shortlister, added, fused
from tailwright.models.astec.network import AstecNetwork, SettledClassifier, coarse_vectors
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter

if TYPE_CHECKING:
    from scipy import sparse

    from tailwright.models.astec.settings import AstecSettings


@dataclass(frozen=True, eq=False)
class Reader:
    """Word vectors and the classifier on top of them."""

    words: np.ndarray  # (words, width) float32
    classifier: SettledClassifier

    def arrays(self) -> dict[str, np.ndarray]:
        block = self.classifier.block
        return {
            "words": self.words,
            "block.weight": block.weight,
            "block.bias": block.bias,
            "table": self.classifier.table,
        }

    @staticmethod
    def load(folder: FolderReader, name: str, words: int, labels: int, width: int) -> Reader:
        """What was saved as `name`, checked."""
        shapes = {
            "words": (words, width),
            "block.weight": (width, width),
            "block.bias": (width,),
            "table": (labels, width + 1),
        }
        found = folder.tensors(name, shapes=shapes)
        for key, array in found.items():
            if array.dtype != np.float32 or not bool(np.isfinite(array).all()):
                path = folder.path / f"{name}.safetensors"
                raise DamagedFolderError(f"{key} of {array.dtype}", expected="finite float32", path=path)
        block = Residual(found["block.weight"], found["block.bias"])
        return Reader(found["words"], SettledClassifier(block, found["table"]))


@dataclass(frozen=True, eq=False)
class FittedLearner:
    """Reads texts into vectors, lists labels for them, scores and reranks those, and puts all together."""

    first: Reader
    second: Reader | None  # the reranker
    shortlister: Shortlister
    settings: AstecSettings

    @staticmethod
    def of(
        first: Reader,
        second: Reader | None,
        bags: Bags,
        targets: sparse.csr_array,
        settings: AstecSettings,
        seed: int,
    ) -> FittedLearner:
        """The learner whose shortlists come from the training rows `bags` with their `targets`."""
        vectors = coarse_vectors(bags, first.words)
        lists = settings.shortlists(int(targets.shape[1]))
        return FittedLearner(first, second, Shortlister(vectors, targets, lists, seed), settings)

    @staticmethod
    def readers(network: AstecNetwork) -> tuple[Reader, Reader | None]:
        """What a trained network reads with."""
        first = Reader(network.words.weight, network.extreme.settled())
        if network.rerank is None or network.rerank_words is None:
            return first, None
        return first, Reader(network.rerank_words.weight, network.rerank.settled())

    def answer(self, bags: Bags) -> TopK:
        """The labels of each text with the fused score, best first."""
        vectors = coarse_vectors(bags, self.first.words)
        return self.ranked(bags, vectors, self.shortlister.lists(vectors))

    def ranked(self, bags: Bags, vectors: np.ndarray, near: TopK) -> TopK:
        """The same of texts whose vectors (texts, width) and shortlists are at hand."""
        chosen, labels = self.settings, self.shortlister.labels
        stored = min(chosen.stored, max(labels, 1))
        scores = self.first.classifier.scores(vectors, near.ids)
        ranked = added([TopK(near.ids, scores)], [1.0], labels, stored)
        if self.second is not None:
            again = self.second.classifier.scores(coarse_vectors(bags, self.second.words), ranked.ids)
            share = np.float32(chosen.rerank_weight)
            mixed = np.where(ranked.ids >= 0, share * again + (1 - share) * ranked.scores, -np.inf)
            ranked = TopK(ranked.ids, mixed)
        nearest = TopK(near.ids[:, :stored], near.scores[:, :stored])
        return fused(ranked, nearest, chosen.beta, labels)

    def save(self, folder: FolderWriter) -> None:
        folder.tensors("first", self.first.arrays())
        if self.second is not None:
            folder.tensors("second", self.second.arrays())
