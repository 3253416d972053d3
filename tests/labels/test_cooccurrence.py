"""cooccurrence_blocks: exactly targets.T @ targets, whatever the block."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from tailwright.labels import cooccurrence_blocks

SHAPES = st.tuples(st.integers(0, 6), st.integers(0, 9))


@given(
    arrays.arrays(np.float32, SHAPES, elements=st.sampled_from([0, 0, 0.5, 0.25, 1])),
    st.integers(1, 10),
    st.booleans(),
    st.booleans(),
)
def test_it_equals_the_dense_product(targets: np.ndarray, block: int, binary: bool, diagonal: bool) -> None:
    dense = (targets > 0).astype(np.float64) if binary else targets.astype(np.float64)
    expected = dense.T @ dense
    if not diagonal:
        np.fill_diagonal(expected, 0)
    blocks = list(cooccurrence_blocks(sparse.csr_array(targets), block, binary=binary, diagonal=diagonal))
    rows = [block.toarray() for _, block in blocks]
    assert np.array_equal(np.concatenate([np.zeros((0, targets.shape[1])), *rows]), expected)
    assert sum(block.nnz for _, block in blocks) == np.count_nonzero(expected)
    assert all(block.has_sorted_indices for _, block in blocks)


def test_sums_that_float32_cannot_hold_are_exact() -> None:
    column = sparse.csr_array(np.array([[4096.0], [1.0]], dtype=np.float32))
    ((_, rows),) = cooccurrence_blocks(column)
    assert rows.toarray().tolist() == [[2.0**24 + 1]]


def test_blocks_start_where_they_say() -> None:
    targets = sparse.csr_array(np.array([[1, 1, 1, 0, 1]], dtype=np.float32))
    blocks = list(cooccurrence_blocks(targets, block=2, diagonal=False))
    assert [(start, rows.toarray().tolist()) for start, rows in blocks] == [
        (0, [[0, 1, 1, 0, 1], [1, 0, 1, 0, 1]]),
        (2, [[1, 1, 0, 0, 1], [0, 0, 0, 0, 0]]),
        (4, [[1, 1, 1, 0, 0]]),
    ]


def test_the_input_stays_as_it_is() -> None:
    targets = sparse.csr_array(np.array([[0.5, 1]], dtype=np.float32))
    targets.data.flags.writeable = False
    list(cooccurrence_blocks(targets, binary=True))
    assert targets.data.tolist() == [0.5, 1]


def test_a_block_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="block must be >= 1, got 0"):
        next(cooccurrence_blocks(sparse.csr_array((2, 2)), block=0))
