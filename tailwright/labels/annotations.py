"""What is read from the correlation graph: targets of the labels' own texts, and a label's neighbours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from tailwright.data.pairs import row_ids


def soft_annotations(graph: sparse.csr_array, threshold: float = 0.1) -> sparse.csr_array:
    """Row l: the targets of a text that stands for label l, CSR float32 (labels, labels), values in (0, 1].

    Each row of the graph is divided by its diagonal and capped at 1; values up to `threshold` are dropped.
    (A walk can visit a companion more often than the label itself, and the loss of a target above 1 would
    have no lower bound.) A label with no edge to itself, such as one without rows, is annotated with itself.

    >>> graph = sparse.csr_array(np.array([[4.0, 5, 1, 0.4], [0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]))
    >>> soft_annotations(graph).toarray().tolist()
    [[1.0, 1.0, 0.25, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    """
    if not 0 <= threshold < 1:
        raise ValueError(f"threshold must be in [0, 1), got {threshold}")
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise ValueError(f"graph must have as many rows as columns, got shape {graph.shape}")
    if graph.nnz and not (np.isfinite(graph.data).all() and graph.data.min() >= 0):
        raise ValueError("graph must have finite weights >= 0")
    matrix = sparse.csr_array(graph)
    labels = matrix.shape[0]
    own = matrix.diagonal().astype(np.float64)
    rows = row_ids(matrix)
    # Counts are divided in float64, so that 40 / 400 is 0.1 and not above it.
    values = np.divide(matrix.data, own[rows], out=np.zeros(matrix.nnz), where=own[rows] > 0)
    kept = values > threshold
    alone = np.flatnonzero(own <= 0)
    annotations = sparse.coo_array(
        (
            np.concatenate([np.minimum(values[kept], 1), np.ones(len(alone))]).astype(np.float32),
            (np.concatenate([rows[kept], alone]), np.concatenate([matrix.indices[kept], alone])),
        ),
        shape=(labels, labels),
    ).tocsr()
    annotations.sort_indices()
    return annotations


class Neighbour(NamedTuple):
    """An edge of a label: the other label's column, the weight, and the soft target (0: too weak)."""

    column: int
    weight: float
    target: float


def neighbours(graph: sparse.csr_array, label: int, threshold: float = 0.1) -> list[Neighbour]:
    """The edges of the label in column `label`, strongest first, equal weights by column.

    >>> neighbours(sparse.csr_array(np.array([[4.0, 1], [0, 0]])), 0)[1]
    Neighbour(column=1, weight=1.0, target=0.25)
    """
    start, end = graph.indptr[label], graph.indptr[label + 1]
    columns, weights = graph.indices[start:end], graph.data[start:end]
    targets = soft_annotations(graph, threshold)[[label]].toarray()[0]
    order = np.lexsort((columns, -weights))
    return [
        Neighbour(int(c), float(w), float(targets[c]))
        for c, w in zip(columns[order], weights[order], strict=True)
    ]


def shared_rows(targets: sparse.csr_array, label: int) -> np.ndarray:
    """(labels,) the number of rows that each label shares with `label`."""
    with_label = row_ids(targets)[targets.indices == label]
    return np.bincount(targets[with_label].indices, minlength=targets.shape[1])
