"""The clusters of `astec`'s surrogate task: labels of similar rows share one, and rows learn those."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tailwright.data.dataset import Dataset
from tailwright.labels import GraphSettings
from tailwright.labels.shared import shared_clusters, shared_graph
from tailwright.labels.taught import taught_pairs
from tailwright.streams import stream

MOST_CLUSTERS = 65_536
LABELS_A_CLUSTER = 2.5  # at least, on average


def cluster_count(labels: int, wanted: int) -> int:
    """A power of two: at most `wanted`, and no more than leave some labels for each cluster.

    >>> cluster_count(131_073, 65_536), cluster_count(41_673, 65_536), cluster_count(3, 65_536)
    (32768, 16384, 1)
    """
    most = min(wanted, MOST_CLUSTERS, int(labels / LABELS_A_CLUSTER))
    return 1 << max(most.bit_length() - 1, 0)


def learner_seed(seed: int, learner: int) -> int:
    """The seed of one learner of an ensemble."""
    return int(stream(seed, "astec/learner", learner).integers(2**31))


def label_vectors(
    data: Dataset,
    features: sparse.csr_array,
    *,
    rows: str,
    steps: int,
    restart: float,
    top: int,
    dense_from: int,
    seed: int,
) -> sparse.csr_array:
    """(labels, words): the sum of a label's rows of `features`, smoothed over the label graph.

    `rows` is "original" or "all"; a label that only an augmentation gave rows is made of those in either
    case. Smoothing is left out where a label has more than `dense_from` rows: the graph would be too dense.
    """
    targets = data.weighted_targets()
    chosen = described = targets
    if rows == "original":
        chosen = sparse.csr_array(targets[np.flatnonzero(data.origin.is_original())])
        described = taught_pairs(data)
    of_labels = sparse.csr_array(described.T @ features)
    if np.bincount(chosen.indices, minlength=data.labels).max(initial=0) > dense_from:
        return of_labels
    graph = shared_graph(chosen, GraphSettings(steps, restart, top), seed)
    sums = np.asarray(graph.sum(axis=1)).ravel()
    shares = sparse.diags_array(1 / np.where(sums > 0, sums, 1)) @ graph
    kept = sparse.diags_array((sums == 0).astype(np.float32))
    return sparse.csr_array((shares + kept) @ of_labels, dtype=np.float32)


def label_clusters(vectors: sparse.csr_array, clusters: int, seed: int) -> np.ndarray:
    """(labels,) int32: the cluster of each label, -1 for labels without a vector."""
    found = np.full(vectors.shape[0], -1, dtype=np.int32)
    pointing = np.flatnonzero(np.diff(vectors.indptr) > 0)
    if len(pointing):
        found[pointing] = shared_clusters(vectors[pointing], clusters, seed=seed)
    return found
