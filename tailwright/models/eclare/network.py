"""The networks of `eclare`: classifiers made of label texts and of neighbours' texts, and graph traversal."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from torch import nn

from tailwright.encoders.bags import Bags
from tailwright.encoders.embedding_bags import EmbeddingBags, bag_sum
from tailwright.encoders.residual import ScaledResidual
from tailwright.encoders.row_table import RowTable
from tailwright.encoders.text_tower import ROWS_A_BLOCK, TextTower
from tailwright.evaluation.ranking import TopK
from tailwright.heads.cluster_beam import BeamHead, traversed
from tailwright.heads.label_components import ComponentAttention
from tailwright.models.eclare import EclareSettings
from tailwright.models.shared.beam_learner import BeamLearner


class EclareSurrogate(nn.Module):
    """Classifiers of the surrogate task: attention over a cluster's text and those of its neighbours.

    A cluster without any text has a free vector, which starts at zero, in addition.
    """

    def __init__(self, vectors: np.ndarray, outputs: int, dropout: float, seed: int, *, free: bool) -> None:
        """`vectors` (words, width) is what words start at; `free`: whether some outputs may lack a text."""
        super().__init__()
        width = vectors.shape[1]
        residual = ScaledResidual(width, dropout, seed, "eclare/surrogate/texts")
        self.texts = TextTower(EmbeddingBags(vectors.copy()), residual, dropout)
        self.own = ScaledResidual(width, dropout, seed, "eclare/surrogate/own")
        self.near = ScaledResidual(width, dropout, seed, "eclare/surrogate/near")
        self.attention = ComponentAttention(2, width, dropout, seed, "eclare/surrogate/attention")
        self.free = RowTable(np.zeros((outputs, width), dtype=np.float32)) if free else None

    def forward(
        self, texts: Bags, own: Bags, neighbours: Bags, bare: np.ndarray
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """(batch, width) and (outputs, width), whose products are the logits.

        `own` are the texts of the outputs, `neighbours` their edges as bags of outputs, `bare` the outputs
        with no text nearby. Neighbours' texts are summed from the sums of their words, which are far fewer
        than their words: an epoch on a quarter of winapi-seealso takes 7.0 CPU seconds instead of 12.9.
        """
        of_texts, of_own = self.texts.words(texts, own)
        of_near = bag_sum(of_own, neighbours)
        vectors: torch.Tensor = self.attention(self.own(of_own), self.near(of_near))
        if self.free is not None and len(bare):
            vectors = vectors.index_add(0, torch.from_numpy(bare), self.free(bare))
        return self.texts(of_texts), vectors


class EclareClassifier(nn.Module):
    """Classifiers: attention over the label's text, its neighbours' texts and a free vector."""

    def __init__(self, words: EmbeddingBags, outputs: int, dropout: float, seed: int, name: str) -> None:
        """`words` are frozen here; those of the surrogate task."""
        super().__init__()
        width = words.table.array.shape[1]
        self.texts = TextTower(words, ScaledResidual(width, dropout, seed, f"{name}/texts"), dropout)
        self.own = ScaledResidual(width, dropout, seed, f"{name}/own")
        self.near = ScaledResidual(width, dropout, seed, f"{name}/near")
        self.free = RowTable(np.zeros((outputs, width), dtype=np.float32))
        self.attention = ComponentAttention(3, width, dropout, seed, f"{name}/attention")

    def start(self, near: np.ndarray) -> None:
        """Start free vectors at the sums of the neighbours' words, (outputs, width)."""
        self.free.array[:] = near

    def forward(
        self, texts: Bags, own: np.ndarray, near: np.ndarray, ids: np.ndarray
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """(batch, width) and (len(ids), width), whose products are the logits.

        `own` and `near` (len(ids), width) are the sums of words of the outputs at `ids` and their neighbours.
        """
        of_texts = torch.from_numpy(texts.sum(self.texts.words.table.array))
        return self.texts(of_texts), self._vectors(own, near, self.free(ids))

    def _vectors(self, own: np.ndarray, near: np.ndarray, free: torch.Tensor) -> torch.Tensor:
        texts = self.own(torch.from_numpy(own)), self.near(torch.from_numpy(near))
        vectors: torch.Tensor = self.attention(*texts, free)
        return vectors

    @torch.no_grad()
    def table(self, own: np.ndarray, near: np.ndarray) -> np.ndarray:
        """(outputs, width + 1): vectors of all outputs, and biases, which are 0; in evaluation mode."""
        table = np.zeros((len(own), own.shape[1] + 1), dtype=np.float32)
        for start in range(0, len(own), ROWS_A_BLOCK):
            some = slice(start, start + ROWS_A_BLOCK)
            table[some, :-1] = self._vectors(own[some], near[some], torch.from_numpy(self.free.array[some]))
        return table


class EclareNetwork(nn.Module):
    """One learner: classifiers of clusters, and of labels, under the same frozen words."""

    def __init__(
        self, words: EmbeddingBags, clusters: int, labels: int, settings: EclareSettings, seed: int
    ) -> None:
        super().__init__()
        self.meta = EclareClassifier(words, clusters, settings.dropout, seed, "eclare/meta")
        self.extreme = EclareClassifier(words, labels, settings.dropout, seed, "eclare/extreme")


class GraphLearner(BeamLearner):
    """A learner whose clusters and labels pass on half of their probability over their graphs."""

    def __init__(
        self,
        meta: TextTower,
        extreme: TextTower,
        head: BeamHead,
        of_clusters: sparse.csr_array,
        of_labels: sparse.csr_array,
    ) -> None:
        """Both graphs as `tailwright.labels.correlation.symmetric_graph` makes them."""
        super().__init__(meta, extreme, head)
        self.of_clusters, self.of_labels = of_clusters, of_labels

    def best_clusters(self, bags: Bags, beam: int) -> TopK:
        return traversed(super().best_clusters(bags, beam), self.of_clusters, beam)

    def ranked(self, bags: Bags, clusters: TopK, k: int) -> TopK:
        return traversed(super().ranked(bags, clusters, k), self.of_labels, k)
