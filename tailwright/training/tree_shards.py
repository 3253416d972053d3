"""A label tree in shards: stretches of the nodes of a level, which need nothing of each other.

A classifier depends on the tree, on the rows and on its own number, never on another classifier. So any
shards give the weights that the whole tree would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np

from tailwright.labels.tree import LabelTree
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.training.one_versus_rest import CHILDREN_A_BLOCK, NodeWeights

# A level of a tree with 25,000 labels is cut into 6. The cut is the same for any number of workers, so that
# a training which is resumed with more of them finds its shards.
LABELS_A_SHARD = 4096


@dataclass(frozen=True, order=True)
class TreeShard:
    """Children of the root, `first` up to `last`; below level 0, parents whose children are solved."""

    tree: int
    level: int
    first: int
    last: int

    @property
    def name(self) -> str:
        return f"level-{self.level}-{self.first}-{self.last}"


def shards_of(number: int, tree: LabelTree, counts: np.ndarray) -> list[TreeShard]:
    """A tree cut into shards of about the same work; `counts` (labels,) are the rows of each label."""
    wanted = max(1, len(tree.labels) // LABELS_A_SHARD)
    bounds = np.arange(len(tree.labels) + 1)  # of the nodes of a level, among the labels
    below = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts[tree.labels], dtype=np.int64)])
    found: list[TreeShard] = []
    for level in range(tree.depth - 1, 0, -1):
        starts = tree.starts[level]
        bounds = bounds[starts]
        # What a parent takes grows with its rows and its children; nothing is known of either but that.
        work = np.diff(below[bounds]) * np.diff(starts)
        found += [TreeShard(number, level, first, last) for first, last in _cut(work, wanted)]
    blocks = max(1, -(-tree.width(0) // CHILDREN_A_BLOCK))
    for first, last in _cut(np.ones(blocks), wanted):
        children = (first * CHILDREN_A_BLOCK, min(last * CHILDREN_A_BLOCK, tree.width(0)))
        found.append(TreeShard(number, 0, *children))
    return sorted(found)


def _cut(work: np.ndarray, wanted: int) -> list[tuple[int, int]]:
    """Stretches of about the same work that cover all places; at most `wanted`, none empty."""
    done = np.cumsum(work)
    ends = np.searchsorted(done, done[-1] * np.arange(1, wanted) / wanted) + 1
    return list(pairwise(np.unique([0, *np.minimum(ends, len(work)), len(work)]).tolist()))


@dataclass(frozen=True, eq=False)
class SolvedShard:
    """The weights of the nodes of a shard as a few flat arrays, which are quick to send and to keep."""

    children: np.ndarray  # (nodes,) int64: how many each has
    biases: np.ndarray  # (children of all,) float32
    pairs: np.ndarray  # (nodes,) int64: how many features with weights each has
    features: np.ndarray  # (pairs of all,) int32
    counts: np.ndarray  # (pairs of all,) int64: the weights of each pair
    indices: np.ndarray  # (weights of all,) int32: children
    data: np.ndarray  # (weights of all,) float32

    @staticmethod
    def of(nodes: Sequence[NodeWeights]) -> SolvedShard:
        """Those of a stretch of nodes."""
        return SolvedShard(
            np.array([len(node.biases) for node in nodes], dtype=np.int64),
            np.concatenate([node.biases for node in nodes]),
            np.array([len(node.features) for node in nodes], dtype=np.int64),
            np.concatenate([node.features for node in nodes]),
            np.concatenate([np.diff(node.weights[0]) for node in nodes]),
            np.concatenate([node.weights[1] for node in nodes]),
            np.concatenate([node.weights[2] for node in nodes]),
        )

    def nodes(self) -> list[NodeWeights]:
        """What it was made of; the arrays are views."""
        starts = _starts(self.counts)
        found = []
        slots, pairs = _starts(self.children).tolist(), _starts(self.pairs).tolist()
        for (child, last_child), (first, last) in zip(pairwise(slots), pairwise(pairs), strict=True):
            indptr = starts[first : last + 1]
            own = slice(int(indptr[0]), int(indptr[-1]))
            weights = (indptr - indptr[0], self.indices[own], self.data[own])
            found.append(NodeWeights(self.features[first:last], weights, self.biases[child:last_child]))
        return found

    def save(self, folder: FolderWriter) -> None:
        """Write it as one file."""
        folder.tensors("shard", {field.name: getattr(self, field.name) for field in fields(self)})

    @staticmethod
    def load(folder: FolderReader) -> SolvedShard:
        """What `save` wrote; that it makes sense is for the forest to say."""
        arrays = folder.tensors("shard")
        if set(arrays) != {field.name for field in fields(SolvedShard)}:
            raise DamagedFolderError(f"found {sorted(arrays)}", expected="a solved shard", path=folder.path)
        return SolvedShard(**arrays)


def level_of_shards(level: int, solved: Sequence[SolvedShard]) -> list[NodeWeights]:
    """The nodes of a level, by parent, out of all its shards in order."""
    nodes = [node for shard in solved for node in shard.nodes()]
    return [_side_by_side(nodes)] if level == 0 else nodes


def _side_by_side(parts: Sequence[NodeWeights]) -> NodeWeights:
    """The root out of stretches of its children, by feature, and within a feature by child."""
    if len(parts) == 1:
        return parts[0]
    every = np.concatenate([np.repeat(part.features, np.diff(part.weights[0])) for part in parts])
    children = np.concatenate([part.weights[1] for part in parts])
    order = np.argsort(every, kind="stable")  # children ascend already
    features, counts = np.unique(every, return_counts=True)
    weights = np.concatenate([part.weights[2] for part in parts])[order]
    biases = np.concatenate([part.biases for part in parts])
    return NodeWeights(features, (_starts(counts), children[order], weights), biases)


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
