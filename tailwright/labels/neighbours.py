"""One label of a correlation graph for people: its neighbours, strongest first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tailwright.data.pairs import row_ids
from tailwright.labels.annotations import soft_annotations


@dataclass(frozen=True)
class Neighbour:
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
