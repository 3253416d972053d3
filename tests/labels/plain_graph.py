"""The correlation graph in plain Python and dense NumPy: slow, and easy to check by eye."""

from __future__ import annotations

from collections import Counter

import numpy as np
from scipy import sparse

from tailwright.streams import stream


def lists_without_heads(targets: np.ndarray, head_cut: int) -> tuple[list[list[int]], list[list[int]]]:
    """(rows of each label, labels of each row), labels on more than `head_cut` rows left out."""
    kept = [label for label in range(targets.shape[1]) if np.count_nonzero(targets[:, label]) <= head_cut]
    rows_of = [np.flatnonzero(targets[:, m]).tolist() if m in kept else [] for m in range(targets.shape[1])]
    labels_of = [[m for m in kept if targets[row, m]] for row in range(len(targets))]
    return rows_of, labels_of


def plain_visits(
    targets: np.ndarray, label: int, steps: int, restart: float, head_cut: int, seed: int
) -> Counter[int]:
    """How often the walk from `label` meets each label, drawing from the label's stream in whole numbers."""
    rows_of, labels_of = lists_without_heads(targets, head_cut)
    visits: Counter[int] = Counter()
    if not rows_of[label]:
        return visits
    here = label
    for word in stream(seed, "correlation-graph", label).bit_generator.random_raw(steps).tolist():
        place, left = divmod(word * len(rows_of[here]), 2**64)
        row = rows_of[here][place]
        place, left = divmod(left * len(labels_of[row]), 2**64)
        here = labels_of[row][place]
        visits[here] += 1
        if left < int(restart * 2.0**64):
            here = label
    return visits


def plain_shares(targets: np.ndarray, restart: float, head_cut: int, hops: int = 4) -> np.ndarray:
    """p T + p q T^2 + ... as dense matrices, (labels, labels)."""
    pairs = (targets != 0).astype(np.float64)
    pairs[:, pairs.sum(axis=0) > head_cut] = 0
    by_label = pairs.T / np.maximum(pairs.sum(axis=0), 1)[:, None]
    by_row = pairs / np.maximum(pairs.sum(axis=1), 1)[:, None]
    hop = by_label @ by_row
    return sum(restart * (1 - restart) ** h * np.linalg.matrix_power(hop, h + 1) for h in range(hops))


def plain_graph(weights: list[dict[int, float]], targets: np.ndarray, top: int, head_cut: int) -> np.ndarray:
    """The strongest of each row's weights and its own; heads have themselves, labels without rows nothing."""
    graph = np.zeros((targets.shape[1], targets.shape[1]), dtype=np.float32)
    for label, row in enumerate(weights):
        count = np.count_nonzero(targets[:, label])
        if count > head_cut:
            graph[label, label] = 1
        elif count:
            best = sorted(row, key=lambda m: (-np.float32(row[m]), m))[:top]
            for m in best:
                graph[label, m] = row[m]
            if label not in best:
                graph[label, label] = row.get(label, 1)
    return graph


def random_targets(rows: int, labels: int, a_row: float, seed: int = 0) -> sparse.csr_array:
    """Rows with a few labels each, drawn with odds 1 / (label + 1)."""
    random = np.random.default_rng(seed)
    odds = 1 / np.arange(1, labels + 1)
    dense = random.random((rows, labels)) < np.minimum(odds / odds.sum() * a_row, 1)
    return sparse.csr_array(dense.astype(np.float32))
