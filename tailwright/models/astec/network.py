"""The network of one `astec` learner: what is learnt in which phase, and how its parts start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from tailwright.encoders.bags import Bags
from tailwright.encoders.residual import Residual, SpectralResidual
from tailwright.encoders.row_table import RowTable
from tailwright.heads.shortlist import scored
from tailwright.streams import stream

ROWS_A_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class Classifier:
    """A residual block and a vector and a bias a label (the last column of the table)."""

    block: SpectralResidual
    table: RowTable  # (labels, width + 1)

    @staticmethod
    def new(labels: int, width: int, seed: int, name: str) -> Classifier:
        drawn = stream(seed, f"{name}/table").random((labels, width + 1), dtype=np.float32)
        table = RowTable((2 * drawn - 1) / np.float32(width**0.5))
        return Classifier(SpectralResidual.new(width, seed, f"{name}/block"), table)

    def parts(self, prefix: str) -> Mapping[str, RowTable | torch.Tensor]:
        return {f"{prefix}.table": self.table, **self.block.parts(f"{prefix}.block")}

    def rates(self, prefix: str, rate: float) -> dict[str, float]:
        """The same learning rate for all that is learnt."""
        return dict.fromkeys((f"{prefix}.table", f"{prefix}.block.weight", f"{prefix}.block.bias"), rate)

    def settled(self) -> SettledClassifier:
        return SettledClassifier(self.block.settled(), self.table.weight)


@dataclass(frozen=True, eq=False)
class SettledClassifier:
    """A classifier after training."""

    block: Residual
    table: np.ndarray  # (labels, width + 1) float32

    def scores(self, vectors: np.ndarray, lists: np.ndarray) -> np.ndarray:
        """(rows, listed): the logit of each listed label, minus infinity for padding."""
        found = [np.empty((0, lists.shape[1]), np.float32)]
        for start in range(0, len(vectors), ROWS_A_BLOCK):
            rows = slice(start, start + ROWS_A_BLOCK)
            found.append(scored(lists[rows], self.block(vectors[rows]), self.table))
        return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class AstecNetwork:
    """One learner: word vectors learnt by the surrogate task, the label classifier on top of them, and the
    reranker, which is a network with word vectors of its own (None: no reranker)."""

    words: RowTable  # (words, width)
    surrogate: Classifier  # over clusters
    extreme: Classifier  # over labels
    rerank_words: RowTable | None
    rerank: Classifier | None

    @staticmethod
    def new(vectors: np.ndarray, clusters: int, labels: int, *, reranks: bool, seed: int) -> AstecNetwork:
        """An untrained network whose words start at `vectors` (words, width)."""
        width = vectors.shape[1]
        return AstecNetwork(
            RowTable(vectors.copy()),
            Classifier.new(clusters, width, seed, "astec/surrogate"),
            Classifier.new(labels, width, seed, "astec/extreme"),
            RowTable(vectors.copy()) if reranks else None,
            Classifier.new(labels, width, seed, "astec/rerank") if reranks else None,
        )

    def parts(self, prefix: str) -> dict[str, RowTable | torch.Tensor]:
        """Everything that a checkpoint keeps, by name."""
        found: dict[str, RowTable | torch.Tensor] = {
            f"{prefix}.words": self.words,
            **self.surrogate.parts(f"{prefix}.surrogate"),
            **self.extreme.parts(f"{prefix}.extreme"),
        }
        if self.rerank is not None and self.rerank_words is not None:
            found |= {f"{prefix}.rerank.words": self.rerank_words, **self.rerank.parts(f"{prefix}.rerank")}
        return found


def coarse_vectors(bags: Bags, words: np.ndarray) -> np.ndarray:
    """(rows, width) float32: the weighted sum of a text's word vectors, what is negative cut off."""
    return np.maximum(bags.sum(words), 0)
