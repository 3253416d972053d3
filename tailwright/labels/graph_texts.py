"""A label graph as a matrix that smooths vectors and scores, and the graph between clusters of labels."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tailwright.data.pairs import row_ids
from tailwright.labels.cluster_texts import members_of


def with_self_edges(graph: sparse.csr_array) -> sparse.csr_array:
    """The graph in which a label without edges has one to itself, of weight 1."""
    alone = (np.diff(graph.indptr) == 0).astype(np.float32)
    return sparse.csr_array(graph + sparse.diags_array(alone), dtype=np.float32)


def strongest(matrix: sparse.csr_array, top: int) -> sparse.csr_array:
    """The `top` largest entries of each row, equal ones by smaller column.

    >>> strongest(sparse.csr_array([[1.0, 2.0, 2.0], [0.0, 0.0, 3.0]]), 1).toarray().tolist()
    [[0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]
    """
    matrix = sparse.csr_array(matrix, dtype=np.float32)
    rows = row_ids(matrix)
    order = np.lexsort((matrix.indices, -matrix.data, rows))  # rows stay in place, largest first within one
    kept = np.sort(order[np.arange(matrix.nnz) - matrix.indptr[rows] < top])
    starts = np.searchsorted(rows[kept], np.arange(matrix.shape[0] + 1))
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], starts), shape=matrix.shape)


def of_similar_texts(graph: sparse.csr_array, vectors: np.ndarray, least: float) -> sparse.csr_array:
    """The edges between labels whose texts have a cosine of `least` or more, and those to themselves.

    `vectors` (labels, width), of length 1, are those of the texts.
    """
    rows, columns = row_ids(graph), graph.indices
    cosines = np.empty(graph.nnz, dtype=np.float32)
    for start in range(0, graph.nnz, 1 << 16):
        some = slice(start, start + (1 << 16))
        cosines[some] = np.einsum("ij,ij->i", vectors[rows[some]], vectors[columns[some]])
    kept = (cosines >= least) | (rows == columns)
    starts = np.searchsorted(rows[kept], np.arange(graph.shape[0] + 1))
    return sparse.csr_array((graph.data[kept], columns[kept], starts), shape=graph.shape)


def cluster_graph(
    graph: sparse.csr_array, cluster_of: np.ndarray, clusters: int, top: int
) -> sparse.csr_array:
    """(clusters, clusters): the sums of the edges between their labels, the `top` largest of each cluster."""
    members = members_of(cluster_of, clusters)
    return with_self_edges(strongest(members @ graph @ members.T, top))
