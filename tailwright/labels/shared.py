"""Label graphs, clusters and trees, made once for all trainings that share their work.

Each function gives the same as its namesake, to the last bit.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from tailwright.code_version import code_version
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.labels.annotations import soft_annotations
from tailwright.labels.clustering import balanced_clusters
from tailwright.labels.correlation import GraphSettings, correlation_graph, symmetric_graph
from tailwright.labels.tree import LabelTree, TreeShape, label_tree
from tailwright.store.shared import content_key, shared

Normalisation: TypeAlias = Literal["counts", "symmetric"]


def shared_graph(targets: sparse.csr_array, graph: GraphSettings, seed: int = 0) -> sparse.csr_array:
    """`correlation_graph` of `targets` (rows, labels)."""
    return shared(
        "label-graph",
        lambda: content_key(code_version(["tailwright.labels.correlation"]), repr(graph), seed, targets),
        lambda: correlation_graph(
            targets, graph.steps, graph.restart, graph.top, graph.head_cut, seed, graph.method
        ),
        lambda folder, made: folder.csr("graph", made),
        lambda folder: folder.csr("graph", dtype=np.float32, shape=(targets.shape[1], targets.shape[1])),
    )


def annotations_of(
    corpus: Corpus,
    graph: GraphSettings,
    *,
    threshold: float,
    normalisation: Normalisation = "counts",
    seed: int = 0,
) -> sparse.csr_array:
    """`soft_annotations` of the correlation graph of the original training rows alone."""
    made = graph_of_originals(corpus.train, graph, seed)
    return soft_annotations(symmetric_graph(made) if normalisation == "symmetric" else made, threshold)


def graph_of_originals(train: Dataset, graph: GraphSettings, seed: int = 0) -> sparse.csr_array:
    """The correlation graph of the original rows alone."""
    return shared_graph(rows_in_order(train).targets, graph, seed)


def rows_in_order(train: Dataset) -> Dataset:
    """The original rows in the order of their file.

    A walk draws rows by their place, and this makes it independent of the order in the corpus.
    """
    rows = train.originals()
    return rows.take(np.argsort(rows.origin.rows, kind="stable"))


def shared_clusters(vectors: sparse.csr_array | np.ndarray, clusters: int, *, seed: int) -> np.ndarray:
    """`balanced_clusters` of `vectors` (labels, columns)."""
    return shared(
        "label-clusters",
        lambda: content_key(code_version(["tailwright.labels.clustering"]), clusters, seed, vectors),
        lambda: balanced_clusters(vectors, clusters, seed=seed),
        lambda folder, made: folder.array("clusters", made),
        lambda folder: folder.array("clusters", dtype=np.int32, shape=(vectors.shape[0],)),
    )


def shared_tree(
    vectors: sparse.csr_array, labels: np.ndarray, shape: TreeShape, *, seed: int, threads: int = 1
) -> LabelTree:
    """`label_tree` over `labels` (ids) by their `vectors` (labels, columns)."""
    return shared(
        "label-tree",
        lambda: content_key(code_version(["tailwright.labels.tree"]), repr(shape), seed, labels, vectors),
        lambda: label_tree(vectors, labels, shape, seed=seed, threads=threads),
        lambda folder, made: made.save(folder),
        lambda folder: LabelTree.load(folder, labels),
    )
