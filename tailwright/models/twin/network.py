"""The network of twin: word vectors, a residual layer a side, free label vectors, and a scale."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tailwright.data.dataset import Dataset
from tailwright.encoders.bags import Bags
from tailwright.encoders.embedding_bags import EmbeddingBags
from tailwright.encoders.row_table import RowTable
from tailwright.models.twin.vectors import ROWS_A_BLOCK, TwinVectors
from tailwright.streams import stream


class TwinNetwork(nn.Module):
    """Scores of texts and labels; `label_bags` are the label texts."""

    def __init__(self, words: np.ndarray, free: np.ndarray, label_bags: Bags, *, scale: float) -> None:
        super().__init__()
        width = words.shape[1]
        self.words, self.free = EmbeddingBags(words), RowTable(free)  # (words, width), (labels, width)
        self.text_layer = nn.Parameter(torch.zeros(width, width))
        self.label_layer = nn.Parameter(torch.zeros(width, width))
        self.log_scale = nn.Parameter(torch.log(torch.tensor([scale])))
        self.label_bags = label_bags

    def forward(self, texts: Bags, labels: np.ndarray) -> torch.Tensor:
        """(texts, labels): the score of each text and each of the `labels` (distinct ids)."""
        of_texts, of_labels = self.words(texts, self.label_bags.take(labels))
        text = unit(residual(of_texts, self.text_layer))  # (texts, width)
        label = unit(residual(of_labels, self.label_layer) + self.free(labels))  # (labels, width)
        return self.log_scale.exp() * (text @ label.T)

    @torch.no_grad()
    def vectors(self) -> TwinVectors:
        """The network as it is now, ready to predict; arrays share their memory with it where they can."""
        words, free = self.words.table.array, self.free.array
        labels = np.empty_like(free)
        for start in range(0, len(labels), ROWS_A_BLOCK):
            end = min(start + ROWS_A_BLOCK, len(labels))
            summed = torch.from_numpy(self.label_bags.slice(start, end).sum(words))
            encoded = residual(summed, self.label_layer) + torch.from_numpy(free[start:end])
            labels[start:end] = unit(encoded).numpy()
        return TwinVectors(words, self.text_layer.detach().numpy(), labels, float(self.log_scale.exp()))


def new_network(
    rows: Bags, label_bags: Bags, words: int, data: Dataset, *, width: int, scale: float, seed: int
) -> TwinNetwork:
    """An untrained network: a random projection of TF-IDF vectors, so that it matches texts by their words.

    A label without a known word starts at the mean vector of its rows; without rows too, at a random one.
    """
    table = stream(seed, "twin/words").standard_normal((words, width), dtype=np.float32)
    table /= np.float32(width**0.5)
    free = np.zeros((len(label_bags), width), dtype=np.float32)
    bare = np.flatnonzero(np.diff(label_bags.indptr) == 0)
    if len(bare):
        means = unit(torch.from_numpy(data.weighted_targets()[:, bare].T @ rows.sum(table))).numpy()
        lost = np.abs(means).max(axis=1) == 0
        draws = stream(seed, "twin/free").standard_normal((len(bare), width), dtype=np.float32)
        free[bare] = np.where(lost[:, None], draws / np.float32(width**0.5), means)
    return TwinNetwork(table, free, label_bags, scale=scale)


def residual(vectors: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x + relu(x) W: the identity while W is zero."""
    return vectors + functional.relu(vectors) @ weight


def unit(vectors: torch.Tensor) -> torch.Tensor:
    """Each row scaled to length 1; a row of zeros stays."""
    return functional.normalize(vectors, dim=1)
