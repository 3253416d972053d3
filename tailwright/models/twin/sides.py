"""The two sides of twin, forward and backward: bags of words become vectors of unit length.

x = bag sum;  y = x + relu(x) W + free;  u = y / |y|
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailwright.encoders.bags import Bags

SHORTEST = np.float32(1e-12)  # a vector below this length stays as it is


@dataclass(frozen=True, eq=False)
class Side:
    """What the backward pass needs of a forward pass over texts or labels."""

    sums: np.ndarray  # (rows, width): x
    lengths: np.ndarray  # (rows, 1): |y|
    units: np.ndarray  # (rows, width): u
    layer: np.ndarray  # (width, width): W

    @staticmethod
    def of(sums: np.ndarray, layer: np.ndarray, free: np.ndarray | None = None) -> Side:
        """The forward pass over the bag sums (rows, width); `free` (rows, width) is added by labels alone."""
        vectors = residual(sums, layer)
        if free is not None:
            vectors += free
        lengths = lengths_of(vectors)
        vectors /= lengths
        return Side(sums, lengths, vectors, layer)

    def backward(self, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The gradients of x, of W and of `free`, given that of u (rows, width), which is overwritten."""
        gradient -= self.units * np.einsum("rw,rw->r", self.units, gradient)[:, None]
        gradient /= self.lengths
        of_layer = np.maximum(self.sums, 0).T @ gradient
        of_sums = gradient @ self.layer.T
        of_sums *= self.sums > 0
        of_sums += gradient
        return of_sums, of_layer, gradient


def residual(sums: np.ndarray, layer: np.ndarray) -> np.ndarray:
    """x + relu(x) W: the identity while W is zero."""
    vectors: np.ndarray = np.maximum(sums, 0) @ layer
    vectors += sums
    return vectors


def lengths_of(vectors: np.ndarray) -> np.ndarray:
    """(rows, 1): the length of each row, or what a row of zeros is divided by to stay."""
    squares = np.einsum("rw,rw->r", vectors, vectors)
    return np.maximum(np.sqrt(squares), SHORTEST)[:, None]


def raw_vectors(bags: Bags, words: np.ndarray, layer: np.ndarray, *, block: int = 8192) -> np.ndarray:
    """(bags, width): x + relu(x) W, `block` bags at a time; a bag without words is zero."""
    vectors = np.empty((len(bags), words.shape[1]), dtype=np.float32)
    for start in range(0, len(bags), block):
        end = min(start + block, len(bags))
        vectors[start:end] = residual(bags.slice(start, end).sum(words), layer)
    return vectors


def unit_vectors(bags: Bags, words: np.ndarray, layer: np.ndarray) -> np.ndarray:
    """(bags, width) of unit length; a bag without words is zero."""
    vectors = raw_vectors(bags, words, layer)
    vectors /= lengths_of(vectors)
    return vectors
