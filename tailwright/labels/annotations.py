"""What the correlation graph says to a trainer: soft annotations of labels, and a graph for classifiers."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tailwright.data.pairs import row_ids


def soft_annotations(graph: sparse.csr_array, threshold: float = 0.1) -> sparse.csr_array:
    """Row l = the targets of a text that stands for label l: CSR float32 (labels, labels), values in (0, 1].

    Each row of the graph is divided by its own diagonal, cut off at 1, and what is not above `threshold` is
    dropped. (A companion can be met more often than the label itself, and a target above 1 would have a loss
    without a lower end.) A label that has no weight to itself, as one without rows, is annotated with itself.

    >>> graph = sparse.csr_array(np.array([[4.0, 5, 1, 0.4], [0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]))
    >>> soft_annotations(graph).toarray().tolist()
    [[1.0, 1.0, 0.25, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    """
    if not 0 <= threshold < 1:
        raise ValueError(f"threshold must be in [0, 1), got {threshold}")
    _check_square(graph)
    matrix = sparse.csr_array(graph)
    labels = matrix.shape[0]
    own = matrix.diagonal().astype(np.float64)
    rows = row_ids(matrix)
    # Counts divide in float64 so that 40 / 400 is 0.1 and not above it.
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


def symmetric_normalised(graph: sparse.csr_array) -> sparse.csr_array:
    """Each edge over the root of its row's sum times its column's sum, CSR float32; for label classifiers.

    >>> symmetric_normalised(sparse.csr_array(np.array([[3.0, 1], [0, 0]]))).toarray().round(3).tolist()
    [[0.8659999966621399, 0.5], [0.0, 0.0]]
    """
    _check_square(graph)
    matrix = sparse.csr_array(graph, dtype=np.float64)
    by_row, by_column = (_inverse_root(matrix.sum(axis=axis)) for axis in (1, 0))
    values = matrix.data * by_row[row_ids(matrix)] * by_column[matrix.indices]
    return sparse.csr_array((values.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)


def _inverse_root(sums: np.ndarray) -> np.ndarray:
    """1 / sqrt, and 0 for rows and columns that have no edge."""
    return np.divide(1, np.sqrt(sums), out=np.zeros(len(sums)), where=sums > 0)


def _check_square(graph: sparse.csr_array) -> None:
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise ValueError(f"graph must have as many rows as columns, got shape {graph.shape}")
    if graph.nnz and not (np.isfinite(graph.data).all() and graph.data.min() >= 0):
        raise ValueError("graph must have finite weights >= 0")
