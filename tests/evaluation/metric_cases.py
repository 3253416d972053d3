"""Random evaluations for Hypothesis: small, with everything odd that a caller may bring."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from scipy import sparse


@dataclass(frozen=True)
class Case:
    rankings: list[list[int]]  # padded with -1 to one width
    truth: list[list[float]]
    weights: list[float]
    ks: tuple[int, ...]
    excluded: set[tuple[int, int]]

    @property
    def top_ids(self) -> np.ndarray:
        return np.array(self.rankings, dtype=np.int64).reshape(len(self.rankings), -1)

    @property
    def truth_csr(self) -> sparse.csr_array:
        return sparse.csr_array(np.array(self.truth))

    @property
    def excluded_csr(self) -> sparse.csr_array:
        pairs = np.zeros(np.shape(self.truth), dtype=np.float32)
        for row, label in self.excluded:
            pairs[row, label] = 1
        return sparse.csr_array(pairs)


@st.composite
def cases(draw: st.DrawFn, soft: bool = True) -> Case:
    """Empty rows and rankings, padding anywhere, k above the label count, excluded pairs, soft truth."""
    rows, labels = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    value = st.sampled_from([0.0, 0.0, 1.0, 0.25, 0.7] if soft else [0.0, 1.0])
    truth = [[draw(value) for _ in range(labels)] for _ in range(rows)]
    width = draw(st.integers(0, labels + 2))
    rankings = []
    for _ in range(rows):
        order = draw(st.permutations([*range(labels), -1, -1]))
        cut = list(order)[:width]
        rankings.append(cut + [-1] * (width - len(cut)))
    weights = [draw(st.floats(0.5, 20.0)) for _ in range(labels)]
    ks = tuple(sorted(draw(st.sets(st.integers(1, labels + 3), min_size=1, max_size=4))))
    pair = st.tuples(st.integers(0, rows - 1), st.integers(0, labels - 1))
    return Case(rankings, truth, weights, ks, draw(st.sets(pair, max_size=rows * 2)))
