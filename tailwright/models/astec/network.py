"""The network of one `astec` learner, and how it ranks labels."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
import torch
from scipy import sparse
from torch import nn
from torch.nn import functional

from tailwright.encoders.bags import Bags
from tailwright.encoders.dropout import Dropout
from tailwright.encoders.embedding_bags import EmbeddingBags
from tailwright.encoders.residual import SpectralResidual
from tailwright.evaluation.ranking import TopK
from tailwright.heads.candidate_head import CandidateHead, vectors_and_biases
from tailwright.heads.cluster_head import ClusterHead
from tailwright.heads.shortlist import fused, reranked, weighted_sum, without_pairs
from tailwright.models.astec import AstecSettings

ROWS_A_BLOCK = 8192
Head = TypeVar("Head", ClusterHead, CandidateHead)


class CoarseEncoder(nn.Module):
    """The coarse vector of a text: the ReLU of the weighted sum of its words' vectors, under dropout."""

    def __init__(self, vectors: np.ndarray, dropout: float) -> None:
        """`vectors` (words, width) float32 is what the words start at."""
        super().__init__()
        self.words, self.dropout = EmbeddingBags(vectors), Dropout(dropout)

    def forward(self, bags: Bags) -> torch.Tensor:
        """(texts, width)."""
        (summed,) = self.words(bags)
        coarse: torch.Tensor = self.dropout(functional.relu(summed))
        return coarse

    def vectors(self, bags: Bags) -> np.ndarray:
        """(texts, width) float32, without dropout and gradient."""
        return np.maximum(bags.sum(self.words.table.array), 0)


class Classifier(nn.Module, Generic[Head]):
    """Coarse vectors, a residual layer, and a classifier for each cluster or label."""

    def __init__(self, encoder: CoarseEncoder, residual: SpectralResidual, head: Head) -> None:
        super().__init__()
        self.encoder, self.residual = encoder, residual
        self.head: Head = head

    def forward(self, bags: Bags) -> torch.Tensor:
        """(texts, width): what the head scores."""
        queries: torch.Tensor = self.residual(self.encoder(bags))
        return queries


class AstecNetwork(nn.Module):
    """One learner.

    | classifier | over | its word vectors |
    |---|---|---|
    | surrogate | clusters | learnt |
    | extreme | labels | those of the surrogate task, frozen |
    | reranker | labels | learnt anew, from where the others started |

    `encoder` is the surrogate's and the extreme classifier's. A trained network has no surrogate any more.
    """

    def __init__(
        self, vectors: np.ndarray, clusters: int, labels: int, settings: AstecSettings, seed: int
    ) -> None:
        """`vectors` (words, width) is what words start at; 0 `clusters`: no surrogate classifier."""
        super().__init__()
        width, dropout, self.settings = vectors.shape[1], settings.dropout, settings

        def residual(name: str) -> SpectralResidual:
            return SpectralResidual(width, dropout, seed, f"astec/{name}/block")

        def table(outputs: int, name: str) -> np.ndarray:
            return vectors_and_biases(outputs, width, seed, f"astec/{name}/table")

        def over_labels(encoder: CoarseEncoder, name: str) -> Classifier[CandidateHead]:
            return Classifier(encoder, residual(name), CandidateHead(table(labels, name)))

        # Before its users: parameters have the name of the first module that they are found in.
        self.encoder = CoarseEncoder(vectors.copy(), dropout)
        self.surrogate: Classifier[ClusterHead] | None = None
        if clusters:
            head = ClusterHead(table(clusters, "surrogate"))
            self.surrogate = Classifier(self.encoder, residual("surrogate"), head)
        self.extreme = over_labels(self.encoder, "extreme")
        self.reranker: Classifier[CandidateHead] | None = None
        if settings.rerank.epochs:
            self.reranker = over_labels(CoarseEncoder(vectors.copy(), dropout), "rerank")

    def ranked(
        self,
        bags: Bags,
        vectors: np.ndarray,
        near: TopK,
        excluded: sparse.csr_array | None = None,
        *,
        reranks: bool = True,
    ) -> TopK:
        """The labels of each text, best first by the fused score, from its coarse vector and shortlist.

        `excluded` (texts, labels) stores the pairs that must not be ranked.
        """
        settings, labels = self.settings, len(self.extreme.head.table)
        ranking = self.best_of(vectors, near.ids)
        if reranks and self.reranker is not None:
            logits = logits_of(self.reranker, self.reranker.encoder.vectors(bags), ranking.ids)
            ranking = reranked(ranking, logits, settings.rerank.weight)
        nearest = TopK(near.ids[:, : ranking.k], near.scores[:, : ranking.k])
        if excluded is not None:
            ranking, nearest = without_pairs(ranking, excluded), without_pairs(nearest, excluded)
        return fused(ranking, nearest, settings.beta, labels)

    def best_of(self, vectors: np.ndarray, lists: np.ndarray) -> TopK:
        """The listed labels that the extreme classifier ranks highest, for coarse `vectors` of texts."""
        labels = len(self.extreme.head.table)
        scored = TopK(lists, logits_of(self.extreme, vectors, lists))
        return weighted_sum([scored], [1.0], labels, min(self.settings.stored, max(labels, 1)))


@torch.no_grad()
def logits_of(classifier: Classifier[CandidateHead], vectors: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """(texts, listed): the logit of each listed label, minus infinity for padding; in evaluation mode."""
    logits = [np.empty((0, lists.shape[1]), np.float32)]
    for start in range(0, len(vectors), ROWS_A_BLOCK):
        rows = slice(start, start + ROWS_A_BLOCK)
        queries = classifier.residual(torch.from_numpy(vectors[rows])).numpy()
        logits.append(classifier.head.scores(queries, lists[rows]))
    return np.concatenate(logits)
