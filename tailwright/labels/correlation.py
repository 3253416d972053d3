"""The label correlation graph: the labels that a random walk from a label visits, over the rows they share.

A hop leads from a label to one of its training rows, and from there to one of that row's labels; before every
hop but the first, the walk restarts at its first label with probability `restart`. The more often it visits a
label, the stronger the edge. Frequent labels are removed first, else they would be everybody's neighbours.

Two methods make the same graph (a test checks that the first approaches the second as steps grow):

| method | weight of an edge | |
|---|---|---|
| walk | visits, out of `steps` | one random walk per label, as in the papers |
| series | expected share of visits, up to four hops | exact, no seed |

The walk costs labels x steps. The series costs, for each label, all pairs within four hops: little if labels
and rows have a few each, up to labels x pairs if a few hops lead everywhere.

With T[l, m] the probability that a hop from l ends at m, the series is p (T + q T^2 + q^2 T^3 + q^3 T^4),
where p is `restart` and q = 1 - p. It covers 1 - q^4 of all visits, 99.84 % at p = 0.8.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numba import get_num_threads
from scipy import sparse

from tailwright.data.pairs import row_ids
from tailwright.errors import InputError
from tailwright.kernels.label_graph import expected_visits, walk_labels
from tailwright.progress import progress
from tailwright.settings import Settings, setting
from tailwright.store.whole_file import whole_file
from tailwright.streams import stream_key

HOPS = 4  # of the series
# Labels in a block: rows of the result that are held padded, and labels between two reports of progress.
BLOCK = 4096

# (first label, last label, labels (n, top + 1), weights (n, top + 1), counts (n,)): fills the last three.
Fill = Callable[..., None]


@dataclass(frozen=True)
class GraphSettings(Settings):
    """How a correlation graph is made."""

    steps: int = setting(400, "hops of the walk from each label", least=1, most=1_000_000)
    restart: float = setting(0.8, "probability that a hop starts again at the first label", above=0, most=1)
    top: int = setting(
        10, "strongest edges kept per label, and its edge to itself if not among them", least=1
    )
    head_cut: int = setting(500, "labels with more rows than this only have an edge to themselves", least=1)
    method: Literal["walk", "series"] = setting("walk", "walk, as in the papers, or series, which is exact")


def correlation_graph(
    targets: sparse.sparray,
    steps: int = 400,
    restart: float = 0.8,
    top: int = 10,
    head_cut: int = 500,
    seed: int = 0,
    method: Literal["walk", "series"] = "walk",
) -> sparse.csr_array:
    """The graph of the labels of `targets` (rows, labels), CSR float32 (labels, labels); see `GraphSettings`.

    Every stored pair counts as one, whatever its soft value. A label with more than `head_cut` rows has one
    edge, of weight 1, to itself; one without rows none.

    >>> graph = correlation_graph(sparse.csr_array([[1, 1, 0], [1, 1, 0]]), steps=400)
    >>> graph.sum(axis=1).tolist(), graph.indices.tolist()
    ([400.0, 400.0, 0.0], [0, 1, 0, 1])
    """
    settings = GraphSettings(steps, restart, top, head_cut, method)
    pairs = _pairs(targets)
    counts = np.bincount(pairs.indices, minlength=pairs.shape[1])
    tail = _without(pairs, counts > settings.head_cut)
    fill = _walk(tail, settings, seed) if settings.method == "walk" else _series(tail, settings)
    return _collect(fill, settings.top, counts > settings.head_cut)


def save_graph(graph: sparse.csr_array, path: str | Path) -> None:
    """Write a file that `scipy.sparse.load_npz` reads, completely or not at all."""
    path = Path(path)
    if path.suffix != ".npz":
        raise InputError(f"found {path.suffix or 'no suffix'}", expected=".npz", path=path)
    with whole_file(path) as staged, staged.open("xb") as file:
        sparse.save_npz(file, graph)
        file.flush()
        os.fsync(file.fileno())


def _walk(by_row: sparse.csr_array, settings: GraphSettings, seed: int) -> Fill:
    restart_up_to = np.uint64(min(max(int(settings.restart * 2.0**64), 1), 2**64) - 1)
    # Twice the labels that a walk can visit, to keep probing short.
    table_size = 1 << (2 * min(settings.steps, by_row.shape[1]) + 1).bit_length()
    key, threads = stream_key(seed, "correlation-graph"), get_num_threads()
    arguments = (*_hops(by_row), key, settings.steps, restart_up_to, table_size, threads)
    return lambda first, last, *out: walk_labels(first, last, *arguments, *out)


def _series(by_row: sparse.csr_array, settings: GraphSettings) -> Fill:
    rows, labels = by_row.shape
    hop_weights = settings.restart * (1 - settings.restart) ** np.arange(HOPS)
    threads = get_num_threads()
    scratch = (
        np.empty((threads, labels)),
        np.empty((threads, labels)),
        np.full((threads, labels), -1, dtype=np.int32),
        np.empty((threads, labels), dtype=np.int32),
        np.empty((threads, rows)),
        np.full((threads, rows), -1, dtype=np.int32),
        np.empty((threads, rows), dtype=np.int32),
    )
    arguments = (*_hops(by_row), hop_weights, *scratch)
    return lambda first, last, *out: expected_visits(first, last, *arguments, *out)


def _hops(by_row: sparse.csr_array) -> tuple[np.ndarray, ...]:
    """Where the rows of each label start, these rows, where the labels of each row start, these labels."""
    by_label = by_row.T.tocsr()
    return by_label.indptr, by_label.indices, by_row.indptr, by_row.indices


def _collect(fill: Fill, top: int, head: np.ndarray) -> sparse.csr_array:
    """The rows that `fill` makes, block by block, packed into one matrix."""
    labels = len(head)
    counts = np.zeros(labels, dtype=np.int64)
    blocks = [(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32))]
    with progress("label graph", labels, "labels") as advance:
        for first in range(0, labels, BLOCK):
            last = min(first + BLOCK, labels)
            columns = np.empty((last - first, top + 1), dtype=np.int32)
            weights = np.empty((last - first, top + 1), dtype=np.float32)
            fill(first, last, columns, weights, counts[first:last])
            alone = head[first:last]
            columns[alone, 0], weights[alone, 0] = np.arange(first, last)[alone], 1
            counts[first:last][alone] = 1
            filled = np.arange(top + 1) < counts[first:last, None]
            blocks.append((columns[filled], weights[filled]))
            advance(last - first)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    index_type = np.int32 if indptr[-1] < 2**31 else np.int64
    columns, weights = map(np.concatenate, zip(*blocks, strict=True))
    return sparse.csr_array(
        (weights, columns.astype(index_type, copy=False), indptr.astype(index_type)), shape=(labels, labels)
    )


def _pairs(targets: sparse.sparray) -> sparse.csr_array:
    """The stored pairs without their values, each once, labels ascending within a row."""
    matrix = sparse.csr_array(targets)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return _structure(matrix.indices, matrix.indptr, matrix.shape)


def _without(pairs: sparse.csr_array, dropped: np.ndarray) -> sparse.csr_array:
    """The pairs of the labels that are not dropped, in a matrix of the same shape."""
    if not dropped.any():
        return pairs
    kept = ~dropped[pairs.indices]
    indptr = np.concatenate([[0], np.cumsum(kept)])[pairs.indptr]
    return _structure(pairs.indices[kept], indptr, pairs.shape)


def _structure(indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    if shape[1] >= 2**31:
        raise ValueError(f"targets must have fewer than 2**31 labels, got {shape[1]}")
    # Copies: for read-only arrays numba would compile everything again.
    arrays = np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int64)
    return sparse.csr_array((np.ones(len(indices), dtype=np.int8), *arrays), shape=shape)


def symmetric_graph(graph: sparse.csr_array) -> sparse.csr_array:
    """The graph with A[l, m] over the root of (sum of row l x sum of column m), float32.

    Before the division by the diagonal this makes an annotation A[l, m] / A[l, l] x sqrt(c[l] / c[m]) with c
    the sums of columns: companions that everybody has get less, rare ones more.

    >>> symmetric_graph(sparse.csr_array(np.array([[1.0, 3], [3, 13]]))).toarray().tolist()
    [[0.25, 0.375], [0.375, 0.8125]]
    """
    matrix = sparse.csr_array(graph)
    rows, columns = (np.asarray(matrix.sum(axis=axis), dtype=np.float64) for axis in (1, 0))
    scale = np.sqrt(rows[row_ids(matrix)] * columns[matrix.indices])
    values = np.divide(matrix.data, scale, out=np.zeros(matrix.nnz), where=scale > 0)
    return sparse.csr_array((values.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)
