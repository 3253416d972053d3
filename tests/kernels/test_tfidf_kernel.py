"""The TF-IDF kernel against plain Python."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.kernels.tfidf import weigh_rows


def plain_row(ids: list[int], idf: np.ndarray, sublinear: bool) -> dict[int, float]:
    """The plain twin: column -> weight of one row."""
    counts = Counter(word for word in ids if word >= 0)
    raw = {w: (1 + math.log(c) if sublinear else c) * idf[w] for w, c in counts.items()}
    norm = math.sqrt(sum(weight**2 for weight in raw.values()))
    return {word: weight / norm for word, weight in raw.items()}


@given(
    # Rows beyond 32 words take another sort.
    rows=st.lists(st.lists(st.integers(-1, 40), max_size=70), max_size=8),
    sublinear=st.booleans(),
)
def test_rows_agree_with_python(rows: list[list[int]], sublinear: bool) -> None:
    idf = np.linspace(1, 12, 41)
    ids = np.array([word for row in rows for word in row], dtype=np.int32)
    offsets = np.cumsum([0, *map(len, rows)])
    columns, weights, ends = weigh_rows(ids, offsets, 0, len(rows), idf, sublinear)
    starts = [0, *ends.tolist()][: len(rows)]
    for row, start, end in zip(rows, starts, ends, strict=True):
        expected = plain_row(row, idf, sublinear)
        assert columns[start:end].tolist() == sorted(expected)
        assert weights[start:end] == pytest.approx([expected[c] for c in sorted(expected)], abs=1e-7)


def test_a_block_in_the_middle_has_its_own_row_ends() -> None:
    ids = np.array([3, 1, 1, 0, 2], dtype=np.int32)
    offsets = np.array([0, 1, 3, 4, 5])
    columns, weights, ends = weigh_rows(ids, offsets, 1, 3, np.ones(4), True)
    assert columns.tolist() == [1, 0]
    assert weights.tolist() == [1.0, 1.0]
    assert ends.tolist() == [1, 2]
