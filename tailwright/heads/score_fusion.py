"""How the rankings of a classifier, of a reranker and of similarity become one score.

    score = beta * p(classifier) + (1 - beta) * p(similarity)

with p the logistic function divided by the largest of the row. Pairs that must not be ranked leave the lists
before: a row's own label would else be the largest, which all others are divided by.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.special import expit

from tailwright.data.pairs import row_ids
from tailwright.evaluation.ranking import TopK
from tailwright.heads.shortlist import weighted_sum


def reranked(ranking: TopK, logits: np.ndarray, weight: float) -> TopK:
    """`weight` times a reranker's `logits` of the ranked labels, plus 1 - `weight` times their scores."""
    share = np.float32(weight)
    mixed = np.where(ranking.ids >= 0, share * logits + (1 - share) * ranking.scores, -np.inf)
    return TopK(ranking.ids, mixed)


def fused(classifier: TopK, similarity: TopK, beta: float, labels: int) -> TopK:
    """The weighted sum of the relative probabilities of both lists, over the labels of either."""
    lists = [relative_probabilities(classifier), relative_probabilities(similarity)]
    return weighted_sum(lists, [beta, 1 - beta], labels, classifier.k + similarity.k)


def relative_probabilities(top: TopK) -> TopK:
    """The logistic function of the scores, divided by the largest of the row; padding becomes zero."""
    probabilities = np.where(top.ids >= 0, expit(top.scores), 0)
    largest = probabilities.max(axis=1, keepdims=True, initial=0)
    return TopK(top.ids, probabilities / np.where(largest > 0, largest, 1))


def without_pairs(top: TopK, excluded: sparse.csr_array) -> TopK:
    """The lists with padding in place of the labels that `excluded` (rows, labels) stores for their row.

    >>> top = TopK(np.array([[2, 0]]), np.array([[0.9, 0.4]]))
    >>> without_pairs(top, sparse.csr_array(np.array([[0, 0, 1.0]]))).ids.tolist()
    [[-1, 0]]
    """
    rows, labels = top.ids.shape[0], np.int64(excluded.shape[1])
    pairs = np.arange(rows)[:, None] * labels + top.ids  # a pair as one whole number
    barred = np.isin(pairs, row_ids(excluded) * labels + excluded.indices) & (top.ids >= 0)
    return TopK(np.where(barred, -1, top.ids), np.where(barred, -np.inf, top.scores))
