"""The tree of attentionxml: clusters of labels, level below level, and a corpus over the nodes of each.

Labels are described by the TF-IDF of the rows that carry them and cut into equal halves again and again, so
every node of a level has the same number of nodes below it, and leaves differ by at most one label.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tailwright.data.batch_targets import of_groups
from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.text.tfidf import TfIdf, TfIdfSettings
from tailwright.labels import pifa
from tailwright.labels.shared import shared_clusters
from tailwright.labels.vectors import taught_pairs


@dataclass(frozen=True, eq=False)
class LabelLevels:
    """Levels of nodes from the top to the labels, which are the last level.

    `nodes` are the numbers of clusters of the levels above the labels, powers of two from few to many; with
    none, the labels are the only level. `leaves` (labels,) int32 is the cluster of each label.
    """

    nodes: tuple[int, ...]
    leaves: np.ndarray

    def __post_init__(self) -> None:
        sizes = np.bincount(self.leaves, minlength=self.nodes[-1] if self.nodes else 1)
        if self.nodes and (len(sizes) > self.nodes[-1] or not sizes.all()):
            raise ValueError(f"leaves must be in 0..{self.nodes[-1] - 1}, each of them there")

    def __len__(self) -> int:
        return len(self.nodes) + 1

    def width(self, level: int) -> int:
        """Nodes of a level; labels at the last."""
        return self.nodes[level] if level < len(self.nodes) else len(self.leaves)

    def node_of_label(self, level: int) -> np.ndarray:
        """(labels,) int32: the node of a level that each label is under."""
        if level == len(self.nodes):
            return np.arange(len(self.leaves), dtype=np.int32)
        # Halves of a node are numbered side by side.
        found: np.ndarray = self.leaves // np.int32(self.nodes[-1] // self.nodes[level])
        return found

    @cached_property
    def children(self) -> tuple[np.ndarray, ...]:
        """Of each level but the last, (nodes, most children) int64: the nodes below, -1 for none."""
        found = []
        for level, count in enumerate(self.nodes):
            # (nodes of the level below,): the node above each.
            above = np.empty(self.width(level + 1), dtype=np.int64)
            above[self.node_of_label(level + 1)] = self.node_of_label(level)
            sizes = np.bincount(above, minlength=count)
            below = np.argsort(above, kind="stable")
            table = np.full((count, int(sizes.max())), -1, dtype=np.int64)
            table[np.arange(table.shape[1]) < sizes[:, None]] = below
            found.append(table)
        return tuple(found)

    def corpus(self, corpus: Corpus, level: int) -> Corpus:
        """Training and validation rows with the nodes of a level as their labels."""
        if level == len(self.nodes):
            return corpus
        node_of, count = self.node_of_label(level), self.width(level)
        valid = None if corpus.valid is None else of_groups(corpus.valid, node_of, count)
        return Corpus(of_groups(corpus.train, node_of, count), LabelSpace.numbered(count), valid)


def label_levels(corpus: Corpus, nodes: tuple[int, ...], *, min_count: int, seed: int) -> LabelLevels:
    """The tree over the labels of a corpus; words in fewer than `min_count` texts say nothing of a label."""
    if not nodes:
        return LabelLevels((), np.zeros(len(corpus.labels), dtype=np.int32))
    train = corpus.train
    _, features = TfIdf.fit_transform(train.texts, TfIdfSettings(min_count=min_count))
    return LabelLevels(nodes, shared_clusters(pifa(taught_pairs(train), features), nodes[-1], seed=seed))
