"""The way to a label in each tree of a `Forest`, and what each word of a text adds on it.

The search (`tailwright.kernels.beam`) keeps no trace of how it came to a label. Here its path is computed for
one text: the same margins, split by words, and which nodes the beam follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tailwright.data.pairs import CsrArrays
from tailwright.kernels.beam import log_activation, node_margins
from tailwright.training.forest import Forest


@dataclass(frozen=True, eq=False)
class PathStep:
    """A slot on the way to a label: its margin is `bias` and the sum of `shares`."""

    bias: float
    shares: np.ndarray  # (words of the text,) float64
    activation: float
    kept: bool  # whether the search takes this step

    @property
    def margin(self) -> float:
        return self.bias + float(self.shares.sum())


class TextInForest:
    """One text in a forest, given as a CSR matrix of one row with ascending columns."""

    def __init__(self, forest: Forest, row: CsrArrays, *, beam: int, loss: int) -> None:
        _, self.words, self.values = row
        self.forest, self.beam, self.loss = forest, beam, loss
        self.visited = self._visited()

    def paths_to(self, label: int) -> list[list[PathStep]]:
        """The steps from the root of each tree that has the label; none of a label without a classifier."""
        slots = np.flatnonzero(self.forest.children == -1 - label)
        return [self._path(int(slot)) for slot in slots]

    def _path(self, slot: int) -> list[PathStep]:
        forest, steps = self.forest, list[PathStep]()
        above = [slot]
        while above:
            node = int(np.searchsorted(forest.slot_starts, above[0], side="right")) - 1
            steps.append(self._step(node, above[0]))
            above = np.flatnonzero(forest.children == node).tolist()
        return steps[::-1]

    def _step(self, node: int, slot: int) -> PathStep:
        forest, weights = self.forest, self.forest.weights
        first, last = forest.pair_starts[node], forest.pair_starts[node + 1]
        _, words, pairs = np.intersect1d(
            self.words, forest.features[first:last], assume_unique=True, return_indices=True
        )
        shares = np.zeros(len(self.words))
        for word, pair in zip(words, first + pairs, strict=True):
            stored = slice(weights.indptr[pair], weights.indptr[pair + 1])
            of_slot = weights.indices[stored] == slot - forest.slot_starts[node]
            shares[word] = float(self.values[word]) * float(weights.data[stored][of_slot].sum())
        bias, child = float(forest.biases[slot]), int(forest.children[slot])
        activation = float(np.exp(log_activation(bias + shares.sum(), self.loss)))
        return PathStep(bias, shares, activation, kept=(child if child >= 0 else node) in self.visited)

    def _visited(self) -> set[int]:
        """The nodes whose children the search scores."""
        visited: set[int] = set()
        for root in self.forest.roots.tolist():
            here = [(0.0, root)]
            while here:
                visited |= {node for _, node in here}
                below = [child for score, node in here for child in self._children(score, node)]
                # As in the search: higher scores first, equal ones by smaller number.
                here = sorted(below, key=lambda child: (-child[0], child[1]))[: self.beam]
        return visited

    def _children(self, score: float, node: int) -> Sequence[tuple[float, int]]:
        """The nodes below a node of that log score, with their own."""
        forest = self.forest
        slots = slice(forest.slot_starts[node], forest.slot_starts[node + 1])
        children = forest.children[slots]
        if not (children >= 0).any():
            return []
        margins = np.empty(len(children), dtype=np.float32)
        node_margins(
            *(node, self.words, self.values, forest.slot_starts, forest.biases, forest.pair_starts),
            *(forest.features, *forest.weight_arrays, margins),
        )
        return [
            (float(np.float32(score + log_activation(float(margin), self.loss))), int(child))
            for margin, child in zip(margins, children, strict=True)
            if child >= 0
        ]
