"""What prediction needs of a trained network, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from tailwright.encoders.bags import Bags
from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.heads.exact import exact_top_k
from tailwright.store import FolderReader, FolderWriter

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
        vectors = np.empty((len(bags), self.words.shape[1]), dtype=np.float32)
        for start in range(0, len(bags), ROWS_A_BLOCK):
            end = min(start + ROWS_A_BLOCK, len(bags))
            summed = torch.from_numpy(bags.slice(start, end).sum(self.words))
            encoded = summed + functional.relu(summed) @ torch.from_numpy(self.text_layer)
            vectors[start:end] = functional.normalize(encoded, dim=1).numpy()
        return vectors

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
        scale = np.array([self.scale], dtype=np.float64)
        arrays = {"words": self.words, "text_layer": self.text_layer, "labels": self.labels}
        folder.tensors("twin", {**arrays, "scale": scale})

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
        return TwinVectors(
            **{name: np.ascontiguousarray(array, dtype=np.float32) for name, array in arrays.items()},
            scale=scale,
        )
