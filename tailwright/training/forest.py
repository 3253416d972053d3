"""`Forest`: trained label trees as flat arrays, ready for beam search and for the safe folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numba
import numpy as np
from scipy import sparse

from tailwright.data.pairs import CsrArrays, csr_arrays
from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.kernels.beam import beam_search
from tailwright.kernels.blocks import run_blocks
from tailwright.labels.tree import LabelTree
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.training.one_versus_rest import NodeWeights

# Below this, starting a thread costs more than it saves.
FEWEST_ROWS = 8
# The arrays of a forest that are saved beside its weights.
_TYPES = {
    "roots": np.int32,
    "slot_starts": np.int64,
    "children": np.int32,
    "biases": np.float32,
    "pair_starts": np.int64,
    "features": np.int32,
}


@dataclass(frozen=True, eq=False)
class Forest:
    """Nodes of all trees, numbered together, parents before children; see `tailwright.kernels.beam`."""

    labels: int
    columns: int
    roots: np.ndarray  # (trees,) int32
    slot_starts: np.ndarray  # (nodes + 1,) int64
    children: np.ndarray  # (slots,) int32: a node, or -1 - label
    biases: np.ndarray  # (slots,) float32
    pair_starts: np.ndarray  # (nodes + 1,) int64
    features: np.ndarray  # (pairs,) int32
    weights: sparse.csr_array  # (pairs, widest) float32

    def __post_init__(self) -> None:
        """ValueError for anything that would lead the search out of its arrays or in circles."""
        nodes, slots, pairs = len(self.slot_starts) - 1, len(self.children), len(self.features)
        _check_starts("slot_starts", self.slot_starts, slots)
        _check_starts("pair_starts", self.pair_starts, pairs)
        sizes = np.diff(self.slot_starts)
        if len(self.pair_starts) != nodes + 1 or len(self.biases) != slots:
            raise ValueError("nodes and slots do not fit together")
        if self.weights.shape != (pairs, sizes.max(initial=0)):
            raise ValueError(f"weights have shape {self.weights.shape}, not {(pairs, sizes.max(initial=0))}")
        _check_range("roots", self.roots, 0, nodes)
        _check_range("children", self.children, -self.labels, nodes)
        _check_range("features", self.features, 0, self.columns)
        rising = np.diff(self.features) > 0
        rising[self.pair_starts[(self.pair_starts > 0) & (self.pair_starts < pairs)] - 1] = True
        if not bool(rising.all()):
            raise ValueError("features are not ascending within a node")
        owner = np.repeat(np.arange(nodes), sizes)
        inner = self.children >= 0
        if bool((self.children[inner] <= owner[inner]).any()):
            raise ValueError("a node is its own ancestor")
        # By the largest slot of each pair that has weights: an array over all weights would take longer.
        filled = np.flatnonzero(np.diff(self.weights.indptr))
        largest = np.maximum.reduceat(self.weights.indices, self.weights.indptr[filled]) if len(filled) else 0
        pair_owner = np.repeat(np.arange(nodes), np.diff(self.pair_starts))
        if bool((largest >= sizes[pair_owner[filled]]).any()):
            raise ValueError("a weight belongs to no child of its node")
        if not bool(np.isfinite(self.weights.data).all() and np.isfinite(self.biases).all()):
            raise ValueError("a weight is not finite")

    @staticmethod
    def grown(tree: LabelTree, weights: Sequence[Sequence[NodeWeights]], labels: int, columns: int) -> Forest:
        """A forest of one tree, with the weights of its nodes by level and parent."""
        solved = [node for level in weights for node in level]
        children, nodes = [], 0
        for level in range(tree.depth):
            nodes += len(tree.starts[level]) - 1
            lowest = level == tree.depth - 1
            children.append(-1 - tree.labels if lowest else nodes + np.arange(tree.width(level)))
        sizes = np.array([len(node.biases) for node in solved])
        counts = np.concatenate([np.diff(node.weights[0]) for node in solved])
        return Forest(
            labels,
            columns,
            np.zeros(1, dtype=np.int32),
            _starts(sizes),
            np.concatenate(children).astype(np.int32),
            np.concatenate([node.biases for node in solved]),
            _starts(np.array([len(node.features) for node in solved])),
            np.concatenate([node.features for node in solved]),
            _matrix(
                np.concatenate([node.weights[2] for node in solved]),
                np.concatenate([node.weights[1] for node in solved]),
                counts,
                int(sizes.max(initial=0)),
            ),
        )

    @staticmethod
    def together(forests: Sequence[Forest]) -> Forest:
        """The trees of several forests over the same labels and columns."""
        if len(forests) == 1:
            return forests[0]
        nodes = np.cumsum([0, *(len(forest.slot_starts) - 1 for forest in forests)])
        children = [
            np.where(forest.children >= 0, forest.children + shift, forest.children)
            for forest, shift in zip(forests, nodes, strict=False)
        ]
        weights = [forest.weights for forest in forests]
        return Forest(
            forests[0].labels,
            forests[0].columns,
            np.concatenate([f.roots + n for f, n in zip(forests, nodes, strict=False)]).astype(np.int32),
            _starts(np.concatenate([np.diff(forest.slot_starts) for forest in forests])),
            np.concatenate(children).astype(np.int32),
            np.concatenate([forest.biases for forest in forests]),
            _starts(np.concatenate([np.diff(forest.pair_starts) for forest in forests])),
            np.concatenate([forest.features for forest in forests]),
            _matrix(
                np.concatenate([w.data for w in weights]),
                np.concatenate([w.indices for w in weights]),
                np.concatenate([np.diff(w.indptr) for w in weights]),
                max(w.shape[1] for w in weights),
            ),
        )

    def among(self, allowed: np.ndarray) -> Forest:
        """The same trees without all that leads to no `allowed` label (labels,) bool."""
        nodes = len(self.slot_starts) - 1
        owner = np.repeat(np.arange(nodes), np.diff(self.slot_starts))  # (slots,) the node of a slot
        leaf = self.children < 0
        kept = np.where(leaf, allowed[-1 - np.where(leaf, self.children, -1)], False)
        below = np.zeros(nodes, dtype=bool)  # whether a node leads to an allowed label
        while not bool(below[owner[kept]].all()):  # once a level
            below[owner[kept]] = True
            kept[~leaf] = below[self.children[~leaf]]
        # Weights are stored by slot within the node: those of slots that stay move up.
        node = np.repeat(np.repeat(np.arange(nodes), np.diff(self.pair_starts)), np.diff(self.weights.indptr))
        starts = _starts(kept)[self.slot_starts]
        slots = self.slot_starts[node] + self.weights.indices
        stay = kept[slots]
        pairs = np.repeat(np.arange(len(self.features)), np.diff(self.weights.indptr))[stay]
        return replace(
            self,
            slot_starts=starts,
            children=self.children[kept],
            biases=self.biases[kept],
            weights=_matrix(
                self.weights.data[stay],
                _starts(kept)[slots[stay]] - starts[node[stay]],
                np.bincount(pairs, minlength=len(self.features)),
                int(np.diff(starts).max(initial=0)),
            ),
        )

    @property
    def inner_slots(self) -> int:
        """How many slots hold a node: no beam that wide misses a label."""
        return int(np.count_nonzero(self.children >= 0))

    def trees(self) -> list[tuple[LabelTree, list[list[NodeWeights]]]]:
        """Each tree, and the weights of its nodes by level and parent: what `grown` makes a forest of."""
        found = []
        for root, end in pairwise([*self.roots.tolist(), len(self.slot_starts) - 1]):
            first, count, starts, weights = root, 1, [], []
            while first < end and count:
                slots = self.slot_starts[first : first + count + 1]
                starts.append(slots - slots[0])
                weights.append([self._node(node) for node in range(first, first + count)])
                children = self.children[slots[0] : slots[-1]]
                first, count = first + count, len(children)
            if first != end or bool((children >= 0).any()):
                raise InputError("a forest whose labels are not all at one depth", expected="one of linear")
            found.append((LabelTree(tuple(starts), -1 - children), weights))
        return found

    def _node(self, node: int) -> NodeWeights:
        """The classifiers of a node's children."""
        pairs, slots = (slice(*starts[node : node + 2]) for starts in (self.pair_starts, self.slot_starts))
        return NodeWeights(self.features[pairs], csr_arrays(self.weights[pairs]), self.biases[slots])

    def search(self, rows: sparse.csr_array | CsrArrays, k: int, *, beam: int, loss: int) -> TopK:
        """The k best labels of each row of `rows` (rows, columns), a matrix or the arrays of one."""
        inputs: CsrArrays = rows if isinstance(rows, tuple) else csr_arrays(rows)
        count = len(inputs[0]) - 1
        ids = np.full((count, k), -1, dtype=np.int32)
        scores = np.full((count, k), -np.inf, dtype=np.float32)
        nodes = (self.roots, self.slot_starts, self.children, self.biases, self.pair_starts, self.features)
        sizes = (self.labels, self.weights.shape[1], loss, beam)

        def search(first: int, last: int) -> None:
            beam_search(*inputs, *nodes, *self.weight_arrays, *sizes, first, last, ids, scores)

        # One block a thread.
        threads = numba.get_num_threads() if count >= FEWEST_ROWS else 1
        ends = [count * block // threads for block in range(threads + 1)]
        run_blocks(search, list(pairwise(ends)))
        return TopK(ids, scores)

    @cached_property
    def weight_arrays(self) -> CsrArrays:
        """Kept, because a change of index type copies all weights, which takes longer than a query."""
        return csr_arrays(self.weights)

    def save(self, folder: FolderWriter) -> None:
        """Write every array."""
        for name in _TYPES:
            folder.array(name, getattr(self, name))
        folder.csr("weights", self.weights)

    @staticmethod
    def load(folder: FolderReader, labels: int, columns: int) -> Forest:
        """What `save` wrote, checked."""
        arrays = {name: folder.array(name, dtype=kind, shape=(None,)) for name, kind in _TYPES.items()}
        weights = folder.csr("weights", dtype=np.float32, shape=(None, None))
        try:
            return Forest(labels, columns, **arrays, weights=weights)
        except ValueError as error:
            raise DamagedFolderError(str(error), expected="a saved forest", path=folder.path) from error


def _matrix(data: np.ndarray, indices: np.ndarray, counts: np.ndarray, width: int) -> sparse.csr_array:
    """CSR with `counts` entries a row, of 32-bit indices where they suffice: scipy takes the wider type."""
    starts = _starts(counts)
    kind = np.int32 if starts[-1] < 2**31 else np.int64
    arrays = (data, indices.astype(kind, copy=False), starts.astype(kind))
    return sparse.csr_array(arrays, shape=(len(counts), width))


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def _check_starts(name: str, starts: np.ndarray, total: int) -> None:
    if len(starts) == 0 or starts[0] != 0 or starts[-1] != total or bool((np.diff(starts) < 0).any()):
        raise ValueError(f"{name} do not run from 0 up to {total}")


def _check_range(name: str, values: np.ndarray, low: int, high: int) -> None:
    if len(values) and not low <= values.min() <= values.max() < high:
        raise ValueError(f"{name} are not all in {low}..{high - 1}")
