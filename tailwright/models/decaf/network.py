"""The networks of `decaf`: classifiers made of label texts, for clusters and for labels."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from tailwright.encoders.bags import Bags
from tailwright.encoders.embedding_bags import EmbeddingBags
from tailwright.encoders.residual import GatedResidual
from tailwright.encoders.row_table import RowTable
from tailwright.encoders.text_tower import TextTower, in_blocks
from tailwright.heads.label_components import GatedSum
from tailwright.models.decaf import DecafSettings


class TextClassifier(nn.Module):
    """Classifiers of the surrogate task: v x, with v made of the cluster's text.

    A cluster without any text has a free vector, which starts at zero, instead.
    """

    def __init__(
        self, vectors: np.ndarray, outputs: int, dropout: float, seed: int, name: str, *, free: bool
    ) -> None:
        """`vectors` (words, width) is what words start at; `free`: whether some outputs may lack a text."""
        super().__init__()
        width = vectors.shape[1]
        residual = GatedResidual(width, dropout, seed, f"{name}/texts")
        self.texts = TextTower(EmbeddingBags(vectors.copy()), residual, dropout)
        self.labels = GatedResidual(width, dropout, seed, f"{name}/labels")
        self.free = RowTable(np.zeros((outputs, width), dtype=np.float32)) if free else None

    def forward(self, texts: Bags, labels: Bags) -> tuple[torch.Tensor, torch.Tensor]:
        """(batch, width) and (outputs, width), whose products are the logits."""
        of_texts, of_labels = self.texts.words(texts, labels)
        vectors: torch.Tensor = self.labels(of_labels)
        bare = np.flatnonzero(np.diff(labels.indptr) == 0)
        if self.free is not None and len(bare):
            vectors = vectors.index_add(0, torch.from_numpy(bare), self.free(bare))
        return self.texts(of_texts), vectors


class DecafClassifier(nn.Module):
    """Classifiers w x + b, with w a gated sum of the vector of the label's text and of one that is free."""

    def __init__(self, vectors: np.ndarray, outputs: int, dropout: float, seed: int, name: str) -> None:
        """`vectors` (words, width) is what words start at."""
        super().__init__()
        width = vectors.shape[1]
        residual = GatedResidual(width, dropout, seed, f"{name}/texts")
        self.texts = TextTower(EmbeddingBags(vectors.copy()), residual, dropout)
        self.labels = GatedResidual(width, dropout, seed, f"{name}/labels")
        self.free = RowTable(np.zeros((outputs, width + 1), dtype=np.float32))  # biases in the last column
        self.gates = GatedSum(width)

    def start(self, vectors: np.ndarray, labels: Bags) -> None:
        """Start from these word vectors (words, width), and free vectors at the sums of the labels' words."""
        self.texts.words.table.array[:] = vectors
        self.free.array[:, :-1] = labels.sum(vectors)
        self.free.array[:, -1] = 0

    def forward(self, texts: Bags, labels: Bags, ids: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """(batch, width + 1) and (len(ids), width + 1), whose products are the logits.

        `labels` are the texts of the outputs at `ids` (distinct).
        """
        of_texts, of_labels = self.texts.words(texts, labels)
        queries: torch.Tensor = self.texts(of_texts)
        free = self.free(ids)
        vectors: torch.Tensor = self.gates(free[:, :-1], self.labels(of_labels))
        ones = queries.new_ones(len(queries), 1)
        return torch.cat([queries, ones], 1), torch.cat([vectors, free[:, -1:]], 1)

    @torch.no_grad()
    def table(self, labels: Bags) -> np.ndarray:
        """(outputs, width + 1): vectors and biases of all outputs; in evaluation mode."""
        of_texts = torch.from_numpy(in_blocks(self.labels, labels, self.texts.words.table.array))
        free = torch.from_numpy(self.free.array)
        return torch.cat([self.gates(free[:, :-1], of_texts), free[:, -1:]], 1).numpy()


class DecafNetwork(nn.Module):
    """One learner: classifiers of clusters, and of labels; each with words of its own."""

    def __init__(
        self, vectors: np.ndarray, clusters: int, labels: int, settings: DecafSettings, seed: int
    ) -> None:
        super().__init__()
        self.meta = DecafClassifier(vectors, clusters, settings.dropout, seed, "decaf/meta")
        self.extreme = DecafClassifier(vectors, labels, settings.dropout, seed, "decaf/extreme")
