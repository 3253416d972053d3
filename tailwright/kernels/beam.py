"""Beam search down a forest of linear classifiers with sparse weights.

The nodes of all trees are numbered together. A node has a slot for each child, which is a node or a label.
Its weights are stored by feature, only for features that have any, so that the few words of a text are looked
up in a node's sorted list and no other weights are read.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tailwright.kernels.linear import SQUARED_HINGE
from tailwright.kernels.ranking import insert

# e to this is a small float32 that is still above 0, so that a label that was reached is always counted.
LOWEST = -80.0


@njit(cache=True, nogil=True)
def log_activation(margin: float, loss: int) -> float:
    """The logarithm of a classifier's activation, a number in (0, 1]."""
    if loss == SQUARED_HINGE:
        short = max(0.0, 1.0 - margin)
        return -short * short
    return -math.log1p(math.exp(-margin)) if margin > -30 else margin


@njit(cache=True, nogil=True)
def node_margins(
    node: int,
    words: np.ndarray,
    values: np.ndarray,
    slot_starts: np.ndarray,
    biases: np.ndarray,
    pair_starts: np.ndarray,
    features: np.ndarray,
    w_indptr: np.ndarray,
    w_indices: np.ndarray,
    w_data: np.ndarray,
    margins: np.ndarray,
) -> None:
    """margins[s] of the node's slots for a text with ascending `words` and their `values`."""
    first = slot_starts[node]
    for slot in range(first, slot_starts[node + 1]):
        margins[slot - first] = biases[slot]
    low, end = pair_starts[node], pair_starts[node + 1]
    for i in range(len(words)):
        word = words[i]
        high = end
        while low < high:
            middle = (low + high) >> 1
            if features[middle] < word:
                low = middle + 1
            else:
                high = middle
        if low == end:
            return
        if features[low] == word:
            for p in range(w_indptr[low], w_indptr[low + 1]):
                margins[w_indices[p]] += values[i] * w_data[p]


def beam_search(
    x_indptr: np.ndarray,
    x_indices: np.ndarray,
    x_data: np.ndarray,
    roots: np.ndarray,
    slot_starts: np.ndarray,  # (nodes + 1,): where the slots of a node start
    children: np.ndarray,  # (slots,): the node in a slot, or -1 - label
    biases: np.ndarray,  # (slots,)
    pair_starts: np.ndarray,  # (nodes + 1,): where the features of a node start
    features: np.ndarray,  # (pairs,), ascending within a node
    w_indptr: np.ndarray,  # CSR (pairs, widest node): weights, by slot within the node
    w_indices: np.ndarray,
    w_data: np.ndarray,
    labels: int,
    widest: int,
    loss: int,
    beam: int,
    first: int,
    last: int,
    ids: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Fill rows first..last - 1 of ids and scores (rows, k), best first; unused places stay -1, -infinity.

    A label's score in a tree is the product of the activations on the path to it; the scores of all trees are
    averaged, 0 for a tree whose beam missed the label. Each level of a tree keeps its `beam` best nodes.
    """
    rows = x_indptr, x_indices, x_data
    nodes = roots, slot_starts, children, biases, pair_starts, features, w_indptr, w_indices, w_data
    scratch = (
        *(np.empty(widest, dtype=np.float32), np.zeros(labels, dtype=np.float32)),
        *(np.empty(labels, dtype=np.int32), np.empty((2, beam), dtype=np.int32)),
        np.empty((2, beam), dtype=np.float32),
    )
    _beam_search(*rows, *nodes, loss, first, last, *scratch, ids, scores)


@njit(cache=True, nogil=True)
def _beam_search(
    x_indptr: np.ndarray,
    x_indices: np.ndarray,
    x_data: np.ndarray,
    roots: np.ndarray,
    slot_starts: np.ndarray,
    children: np.ndarray,
    biases: np.ndarray,
    pair_starts: np.ndarray,
    features: np.ndarray,
    w_indptr: np.ndarray,
    w_indices: np.ndarray,
    w_data: np.ndarray,
    loss: int,
    first: int,
    last: int,
    margins: np.ndarray,  # (widest,): of a node's slots
    total: np.ndarray,  # (labels,), zeros: the sum of a label's scores
    touched: np.ndarray,  # (labels,): the labels with a score
    beams: np.ndarray,  # (2, beam): the nodes of a level and of the next
    beam_scores: np.ndarray,  # (2, beam)
    ids: np.ndarray,
    scores: np.ndarray,
) -> None:
    here, there = beams[0], beams[1]
    here_scores, there_scores = beam_scores[0], beam_scores[1]
    for row in range(first, last):
        words = x_indices[x_indptr[row] : x_indptr[row + 1]]
        values = x_data[x_indptr[row] : x_indptr[row + 1]]
        count = 0
        for root in roots:
            here[0], here_scores[0], size = root, 0, 1
            while size:
                below = np.int64(0)
                for b in range(size):
                    node = here[b]
                    node_margins(
                        *(node, words, values, slot_starts, biases, pair_starts, features),
                        *(w_indptr, w_indices, w_data, margins),
                    )
                    start = slot_starts[node]
                    for slot in range(start, slot_starts[node + 1]):
                        score = here_scores[b] + log_activation(margins[slot - start], loss)
                        child = children[slot]
                        if child >= 0:
                            below = insert(there, there_scores, below, child, score)
                        else:
                            label = -1 - child
                            if total[label] == 0:
                                touched[count] = label
                                count += 1
                            total[label] += math.exp(max(score, LOWEST))
                here, there = there, here
                here_scores, there_scores = there_scores, here_scores
                size = int(below)
        filled = np.int64(0)
        for t in range(count):
            label = touched[t]
            filled = insert(ids[row], scores[row], filled, label, total[label] / len(roots))
            total[label] = 0
