"""Clusters of labels for a surrogate task: labels whose rows have similar texts share a cluster."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tailwright.data.dataset import Dataset
from tailwright.labels.correlation import GraphSettings
from tailwright.labels.shared import shared_clusters, shared_graph
from tailwright.labels.vectors import taught_pairs

MOST_CLUSTERS = 65_536


def cluster_count(labels: int, wanted: int, labels_each: float) -> int:
    """A power of two: at most `wanted`, and no more than leave `labels_each` labels for each cluster.

    >>> cluster_count(131_073, 65_536, 2.5), cluster_count(131_073, 65_536, 2), cluster_count(3, 65_536, 2.5)
    (32768, 65536, 1)
    """
    most = min(wanted, MOST_CLUSTERS, int(labels / labels_each))
    return 1 << max(most.bit_length() - 1, 0)


def label_vectors(
    data: Dataset, features: sparse.csr_array, *, rows: str, graph: GraphSettings, most_rows: int, seed: int
) -> sparse.csr_array:
    """(labels, columns): the sum of a label's rows of `features`, smoothed over the label graph.

    `rows` is "original" or "all"; a label that only an augmentation gave rows is made of those in either
    case. Where a label is on more than `most_rows` rows, nothing is smoothed: the result would be too dense.
    """
    targets = data.weighted_targets()
    linking = describing = targets
    if rows == "original":
        linking = sparse.csr_array(targets[np.flatnonzero(data.origin.is_original())])
        describing = taught_pairs(data)
    vectors = sparse.csr_array(describing.T @ features)
    if np.bincount(linking.indices, minlength=data.labels).max(initial=0) > most_rows:
        return vectors
    edges = shared_graph(linking, graph, seed)
    sums = np.asarray(edges.sum(axis=1)).ravel()
    shares = sparse.diags_array(1 / np.where(sums > 0, sums, 1)) @ edges
    alone = sparse.diags_array((sums == 0).astype(np.float32))
    return sparse.csr_array((shares + alone) @ vectors, dtype=np.float32)


def label_clusters(vectors: sparse.csr_array | np.ndarray, clusters: int, seed: int) -> np.ndarray:
    """(labels,) int32: the cluster of each label, -1 for a label without a vector."""
    cluster_of = np.full(vectors.shape[0], -1, dtype=np.int32)
    described = described_labels(vectors)
    if len(described):
        cluster_of[described] = shared_clusters(vectors[described], clusters, seed=seed)
    return cluster_of


def described_labels(vectors: sparse.csr_array | np.ndarray) -> np.ndarray:
    """The labels that have a vector."""
    filled = vectors.any(axis=1) if isinstance(vectors, np.ndarray) else np.diff(vectors.indptr) > 0
    return np.flatnonzero(filled)
