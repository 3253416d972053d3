"""A beam over clusters of labels: a text's best clusters, their labels, and the score of both together.

    score(label) = log sigmoid(logit of its cluster) + log sigmoid(logit of the label)

Clusters have nearly equal sizes, so that the labels of each are a row of a padded table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from torch import nn

from tailwright.data.batch_targets import BatchTargets, rows_of
from tailwright.evaluation.ranking import TopK, top_k_of_scores
from tailwright.heads.candidate_head import CandidateHead, CandidateLists
from tailwright.heads.nearest import exact_top_k
from tailwright.heads.shortlist import weighted_sum
from tailwright.kernels.cluster_beam import beam_candidates


def member_table(cluster_of: np.ndarray, clusters: int) -> np.ndarray:
    """(clusters, most members) int32: the labels of each cluster, ascending, -1 behind the last.

    >>> member_table(np.array([1, -1, 0, 1]), 2).tolist()
    [[2, -1], [0, 3]]
    """
    labels = np.flatnonzero(cluster_of >= 0)
    labels = labels[np.argsort(cluster_of[labels], kind="stable")]
    sizes = np.bincount(cluster_of[labels], minlength=clusters)
    table = np.full((clusters, int(sizes.max(initial=0))), -1, dtype=np.int32)
    table[np.arange(table.shape[1]) < sizes[:, None]] = labels
    return table


def log_sigmoid(logits: np.ndarray) -> np.ndarray:
    """The logarithm of the logistic function, without overflow."""
    return np.minimum(logits, 0) - np.log1p(np.exp(-np.abs(logits)))


def best_clusters(queries: np.ndarray, table: np.ndarray, beam: int) -> TopK:
    """The `beam` clusters of the largest logits for `queries` (rows, n), with log sigmoid(logit).

    `table` (clusters, n) has a vector for each cluster. Where there are fewer clusters, all of them.
    """
    top = exact_top_k(queries, table, max(min(beam, len(table)), 1))
    return TopK(top.ids, np.where(top.ids >= 0, log_sigmoid(top.scores), -np.inf).astype(np.float32))


def expanded(clusters: TopK, members: np.ndarray) -> TopK:
    """The labels of each row's clusters, every one with its cluster's score; padding is not at the end.

    >>> expanded(TopK(np.array([[1, 0]]), np.array([[-0.5, -1.0]])), np.array([[2, -1], [0, 3]])).ids.tolist()
    [[0, 3, 2, -1]]
    """
    rows, most = len(clusters), members.shape[1]
    if not members.size:
        return TopK(np.full((rows, 1), -1, np.int32), np.full((rows, 1), -np.inf, np.float32))
    labels = np.where(clusters.ids[:, :, None] >= 0, members[clusters.ids], -1).reshape(rows, -1)
    scores = np.repeat(clusters.scores, most, axis=1)
    return TopK(labels.astype(np.int32), np.where(labels >= 0, scores, -np.inf).astype(np.float32))


def combined(inherited: TopK, logits: np.ndarray) -> TopK:
    """What labels inherited from their clusters, plus log sigmoid of their own `logits` (rows, labels)."""
    listed = inherited.ids >= 0
    own = log_sigmoid(np.where(listed, logits, 0))
    return TopK(inherited.ids, np.where(listed, inherited.scores + own, -np.inf).astype(np.float32))


def best_of(scored: TopK, labels: int, k: int) -> TopK:
    """The k best of each row's scored labels, best first."""
    return weighted_sum([scored], [1.0], labels, k)


def mean_probabilities(of_learners: Sequence[TopK], labels: int, k: int) -> TopK:
    """The k best labels by the mean over learners of exp(score); what a learner lacks counts 0."""
    lists = [TopK(top.ids, np.where(top.ids >= 0, np.exp(top.scores), 0)) for top in of_learners]
    return weighted_sum(lists, [1 / len(lists)] * len(lists), labels, k)


def traversed(top: TopK, graph: sparse.csr_array, k: int) -> TopK:
    """Half of each row's probabilities, and half of what they give to their neighbours, as logarithms.

    With P the probabilities exp(score) of a row's list and G the `graph`, 0.5 P + 0.5 (the k best of P G).
    """
    rows, outputs = len(top), graph.shape[0]
    listed = top.ids >= 0
    probabilities = np.where(listed, np.exp(top.scores), 0).astype(np.float32)
    starts = np.concatenate([[0], np.cumsum(listed.sum(axis=1))])
    passed_on = sparse.csr_array((probabilities[listed], top.ids[listed], starts), (rows, outputs)) @ graph
    near = top_k_of_scores(passed_on, k)
    lists = [TopK(top.ids, probabilities), TopK(near.ids, np.where(near.ids >= 0, near.scores, 0))]
    both = weighted_sum(lists, [0.5, 0.5], outputs, top.k + k)
    scores = np.log(np.maximum(both.scores, np.finfo(np.float32).tiny))
    return TopK(both.ids, np.where(both.ids >= 0, scores, -np.inf))


class BeamHead(nn.Module):
    """Classifiers of clusters and of the labels in them, w x + b each, as they are when training is over."""

    def __init__(self, clusters: np.ndarray, labels: np.ndarray, cluster_of: np.ndarray) -> None:
        """`clusters` and `labels` (outputs, width + 1): vectors, and biases in the last column."""
        super().__init__()
        self.clusters, self.labels = CandidateHead(clusters), CandidateHead(labels)
        self.cluster_of = cluster_of  # (labels,) int32, -1 for a label in no cluster
        self.members = member_table(cluster_of, len(clusters))

    def best_clusters(self, queries: np.ndarray, beam: int) -> TopK:
        """The best clusters of `queries` (rows, width)."""
        rows = np.concatenate([queries, np.ones((len(queries), 1), np.float32)], 1)
        return best_clusters(rows, self.clusters.table.array, beam)

    def best_labels(self, clusters: TopK, queries: np.ndarray, k: int) -> TopK:
        """The k best labels of those clusters for `queries` (rows, width), with the score of both."""
        lists = expanded(clusters, self.members)
        return best_of(combined(lists, self.labels.scores(queries, lists.ids)), len(self.cluster_of), k)


class BeamCandidates:
    """The labels that rows are trained on: those of the clusters in their beam, and labels near to them."""

    def __init__(
        self,
        cluster_of: np.ndarray,
        clusters: int,
        *,
        adds_missed: bool,
        binary: bool,
        neighbours: np.ndarray | None = None,
        most: int | None = None,
    ) -> None:
        """`neighbours` (labels, some) int32, -1 for none, enter with a label; a row has `most` candidates."""
        self.members = member_table(cluster_of, clusters)
        self.neighbours = np.empty((len(cluster_of), 0), np.int32) if neighbours is None else neighbours
        self.adds_missed, self.binary, self.most = adds_missed, binary, most

    def __call__(self, targets: BatchTargets, clusters: np.ndarray) -> CandidateLists:
        """The candidates of a batch whose beams hold `clusters` (batch, beam), -1 for none."""
        fullest = int(np.diff(targets.starts).max(initial=0)) if self.adds_missed else 0
        size = clusters.shape[1] * self.members.shape[1] * (1 + self.neighbours.shape[1]) + fullest
        starts, labels, values = beam_candidates(
            clusters,
            self.members,
            self.neighbours,
            targets.starts,
            targets.labels,
            targets.values,
            targets.ignored_starts,
            targets.ignored,
            self.adds_missed,
            min(size, self.most or size, len(self.neighbours)),
        )
        if self.binary:
            values = (values > 0).astype(np.float32)
        factors = None
        if targets.label_weights is not None:
            factors = targets.label_factors(rows_of(starts), labels)
        return CandidateLists(starts, labels, values, targets.weights, factors)


def neighbour_table(graph: sparse.csr_array) -> np.ndarray:
    """(labels, most edges) int32: the neighbours of each label in `graph` (labels, labels), -1 for none."""
    edges = np.diff(graph.indptr)
    table = np.full((graph.shape[0], int(edges.max(initial=0))), -1, dtype=np.int32)
    table[np.arange(table.shape[1]) < edges[:, None]] = graph.indices
    return table
