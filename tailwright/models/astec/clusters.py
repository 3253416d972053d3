"""The clusters of `astec`'s surrogate task: labels of similar rows share one, and rows learn those."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tailwright.data.dataset import Dataset
from tailwright.labels import GraphSettings
from tailwright.labels.shared import shared_clusters, shared_graph
from tailwright.labels.taught import taught_pairs
from tailwright.streams import stream
from tailwright.training.batches import DrawnBatch
from tailwright.training.losses import BlockPairs

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
    targets = sparse.csr_array(sparse.diags_array(data.weights) @ data.learnt_targets(), dtype=np.float32)
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


def cluster_pairs(
    batch: DrawnBatch,
    ignored_ends: np.ndarray,
    ignored: np.ndarray,
    cluster_of: np.ndarray,
    *,
    binary: bool,
) -> tuple[BlockPairs, BlockPairs]:
    """(positives, ignored) cells (row, cluster) of a batch.

    A cluster's target is the largest of its labels' targets, or 1 if `binary`. A cluster that an ignored
    label alone points at gives no loss; one that has a positive too is a positive.
    """
    row, skip_row = _row_of(batch.ends), _row_of(ignored_ends)
    labels = len(cluster_of)
    counted = ~np.isin(row * labels + batch.labels, skip_row * labels + ignored)
    counted &= cluster_of[batch.labels] >= 0
    row, cluster = row[counted], cluster_of[batch.labels[counted]]
    values = np.ones(len(row), np.float32) if binary else batch.values[counted]
    width = int(cluster_of.max(initial=0)) + 1
    cells, place = np.unique(row * width + cluster, return_inverse=True)
    largest = np.zeros(len(cells), dtype=np.float32)
    np.maximum.at(largest, place, values)
    skipped = cluster_of[ignored] >= 0
    cold = np.setdiff1d(skip_row[skipped] * width + cluster_of[ignored[skipped]], cells)
    return (
        BlockPairs.of(cells // width, cells % width, largest),
        BlockPairs.of(cold // width, cold % width, np.ones(len(cold))),
    )


def _row_of(ends: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(ends) - 1), np.diff(ends))
