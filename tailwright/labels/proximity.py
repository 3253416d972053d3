"""The label proximity graph (TailMix): two labels are neighbours if some training row has both.

No label is its own neighbour: it would always be the nearest. Frequent labels have thousands of neighbours,
so lists are cut to the strongest, those with most rows in common, or to neighbours at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from tailwright.settings import Settings, setting
from tailwright.streams import stream

LABELS_A_BLOCK = 4096


@dataclass(frozen=True)
class ProximitySettings(Settings):
    """How long the lists of neighbours are."""

    most: int = setting(256, "neighbours of a label that are kept", least=1)
    cut: Literal["strongest", "random"] = setting(
        "strongest", "which are kept where there are more: those with most rows in common, or any"
    )


@dataclass(frozen=True, eq=False)
class ProximityGraph:
    """The neighbours of each label as CSR, ascending."""

    starts: np.ndarray  # (labels + 1,) int64
    neighbours: np.ndarray  # (edges,) int32
    cut: np.ndarray  # (labels,) int64: neighbours that were left out


def label_proximity_graph(
    targets: sparse.sparray, settings: ProximitySettings | None = None, *, seed: int = 0
) -> ProximityGraph:
    """The graph of `targets` (rows, labels); every stored pair counts as one, whatever its soft value.

    >>> graph = label_proximity_graph(sparse.csr_array(np.array([[1, 1, 0], [0, 1, 1], [0, 1, 1]])))
    >>> graph.starts.tolist(), graph.neighbours.tolist()
    ([0, 1, 3, 4], [1, 0, 2, 1])
    """
    chosen = settings or ProximitySettings()
    by_row = sparse.csr_array(targets, dtype=np.float32, copy=True)
    by_row.sum_duplicates()
    by_row.eliminate_zeros()
    by_row.data[:] = 1
    by_label = by_row.T.tocsr()
    labels = by_label.shape[0]
    degrees, lists = np.zeros(labels, dtype=np.int64), [np.empty(0, dtype=np.int32)]
    for start in range(0, labels, LABELS_A_BLOCK):
        shared = (by_label[start : start + LABELS_A_BLOCK] @ by_row).tocoo()  # rows in common
        owners, neighbours = shared.coords[0] + start, shared.coords[1]
        others = owners != neighbours
        owners, neighbours, rows = owners[others], neighbours[others], shared.data[others]
        degrees += np.bincount(owners, minlength=labels)
        if chosen.cut == "random":
            rows = stream(seed, "proximity/cut", start).random(len(rows))
        order = np.lexsort((neighbours, -rows, owners))
        place = np.arange(len(order)) - np.searchsorted(owners[order], owners[order])
        kept = order[place < chosen.most]
        lists.append(neighbours[kept[np.lexsort((neighbours[kept], owners[kept]))]].astype(np.int32))
    lengths = np.minimum(degrees, chosen.most)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    return ProximityGraph(starts, np.concatenate(lists), degrees - lengths)
