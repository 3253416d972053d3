"""The network of twin: word vectors, a residual layer a side, free label vectors, and a scale.

`TwinVectors` is what prediction needs of it, as arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tailwright.data.dataset import Dataset
from tailwright.encoders.bags import Bags, EmbeddingBags
from tailwright.encoders.row_table import RowTable
from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.heads.nearest import exact_top_k
from tailwright.models.twin import TwinSettings
from tailwright.store import FolderReader, FolderWriter
from tailwright.streams import stream

ROWS_A_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class TwinVectors:
    """Word vectors, the residual layer of the texts' side, label vectors, and the scale of the cosines."""

    words: np.ndarray  # (words, width) float32
    text_layer: np.ndarray  # (width, width) float32
    labels: np.ndarray  # (labels, width) float32, of unit length
    scale: float

    def of_texts(self, bags: Bags) -> np.ndarray:
        """(texts, width) of unit length, or zero for a text without a known word."""
        return encoded(bags, self.words, torch.from_numpy(self.text_layer))

    def nearest(self, bags: Bags, k: int) -> TopK:
        """The k labels that are nearest to each text, by the scaled cosine.

        A text without a known word is as near to one label as to any other, so none is predicted for it.
        """
        top = exact_top_k(self.of_texts(bags), self.labels, k)
        unknown = (np.diff(bags.indptr) == 0)[:, None]
        scores = top.scores * np.float32(self.scale)
        return TopK(np.where(unknown, -1, top.ids), np.where(unknown, -np.inf, scores))

    def save(self, folder: FolderWriter) -> None:
        """Write `twin.safetensors`."""
        arrays = {"words": self.words, "text_layer": self.text_layer, "labels": self.labels}
        folder.tensors("twin", {**arrays, "scale": np.array([self.scale], dtype=np.float64)})

    @staticmethod
    def load(folder: FolderReader, words: int, labels: int, width: int) -> TwinVectors:
        """What `save` wrote, checked."""
        shapes = {
            "words": (words, width),
            "text_layer": (width, width),
            "labels": (labels, width),
            "scale": (1,),
        }
        arrays = folder.tensors("twin", shapes=shapes)
        for name, array in arrays.items():
            if array.dtype.kind != "f" or not bool(np.isfinite(array).all()):
                path = folder.path / "twin.safetensors"
                raise InputError(f"found {name} of {array.dtype}", expected="finite numbers", path=path)
        scale = float(arrays.pop("scale")[0])
        vectors = {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in arrays.items()}
        return TwinVectors(**vectors, scale=scale)


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
        labels = encoded(self.label_bags, words, self.label_layer, free)
        return TwinVectors(words, self.text_layer.detach().numpy(), labels, float(self.log_scale.exp()))


def new_network(
    rows: Bags, label_bags: Bags, words: int, data: Dataset, settings: TwinSettings, seed: int
) -> TwinNetwork:
    """An untrained network: a random projection of TF-IDF vectors, so that it matches texts by their words.

    A label without a known word starts at the mean vector of its rows; without rows too, at a random one.
    """
    width = settings.width
    table = stream(seed, "twin/words").standard_normal((words, width), dtype=np.float32)
    table /= np.float32(width**0.5)
    free = np.zeros((len(label_bags), width), dtype=np.float32)
    bare = np.flatnonzero(np.diff(label_bags.indptr) == 0)
    if len(bare):
        means = unit(torch.from_numpy(data.weighted_targets()[:, bare].T @ rows.sum(table))).numpy()
        lost = np.abs(means).max(axis=1) == 0
        draws = stream(seed, "twin/free").standard_normal((len(bare), width), dtype=np.float32)
        free[bare] = np.where(lost[:, None], draws / np.float32(width**0.5), means)
    return TwinNetwork(table, free, label_bags, scale=settings.scale)


@torch.no_grad()
def encoded(bags: Bags, words: np.ndarray, layer: torch.Tensor, free: np.ndarray | None = None) -> np.ndarray:
    """(bags, width) of unit length: the residual layer over the words, plus `free` (bags, width)."""
    vectors = np.empty((len(bags), words.shape[1]), dtype=np.float32)
    for start in range(0, len(bags), ROWS_A_BLOCK):
        end = min(start + ROWS_A_BLOCK, len(bags))
        summed = residual(torch.from_numpy(bags.slice(start, end).sum(words)), layer)
        if free is not None:
            summed = summed + torch.from_numpy(free[start:end])
        vectors[start:end] = unit(summed).numpy()
    return vectors


def residual(vectors: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x + relu(x) W: the identity while W is zero."""
    return vectors + functional.relu(vectors) @ weight


def unit(vectors: torch.Tensor) -> torch.Tensor:
    """Each row scaled to length 1; a row of zeros stays."""
    return functional.normalize(vectors, dim=1)
