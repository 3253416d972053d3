"""The kernels of embedding bags agree with scipy and NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tailwright.kernels.csr import gather_rows, number_locally, sum_rows, transposed


@st.composite
def matrices(draw):
    rows, columns = draw(st.integers(1, 8)), draw(st.integers(1, 9))
    random = np.random.Generator(np.random.Philox(key=draw(st.integers(0, 2**32))))
    dense = random.normal(size=(rows, columns)) * (random.random((rows, columns)) < 0.4)
    return sparse.csr_array(dense.astype(np.float32))


def parts(matrix):
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data


@given(matrices(), st.data())
def test_rows_are_gathered_in_any_order_and_twice(matrix, data):
    rows = np.array(data.draw(st.lists(st.integers(0, matrix.shape[0] - 1), max_size=12)), dtype=np.int64)
    indptr, indices, values = gather_rows(*parts(matrix), rows)
    taken = sparse.csr_array((values, indices, indptr), shape=(len(rows), matrix.shape[1]))
    np.testing.assert_array_equal(taken.toarray(), matrix.toarray()[rows])


@given(st.lists(st.integers(0, 20), max_size=30), st.sampled_from([21, 5000]))
def test_local_numbers_are_those_of_numpy_unique(columns, width):
    columns = np.array(columns, dtype=np.int32)
    scratch = np.full(width, -1, dtype=np.int32)
    distinct, local = number_locally(columns, scratch)
    expected, places = np.unique(columns, return_inverse=True)
    np.testing.assert_array_equal(distinct, expected)
    np.testing.assert_array_equal(local, places)
    assert distinct.dtype == columns.dtype
    assert (scratch == -1).all()


@given(matrices())
def test_the_transpose_is_that_of_scipy(matrix):
    indptr, indices, values = transposed(*parts(matrix), matrix.shape[1])
    turned = sparse.csr_array((values, indices, indptr), shape=matrix.shape[::-1])
    np.testing.assert_array_equal(turned.toarray(), matrix.toarray().T)
    assert turned.has_sorted_indices


@given(matrices())
def test_sums_are_a_matrix_product(matrix):
    table = np.random.Generator(np.random.Philox(key=1)).normal(size=(matrix.shape[1], 5)).astype(np.float32)
    out = np.full((matrix.shape[0], 5), np.nan, dtype=np.float32)
    sum_rows(*parts(matrix), table, out)
    np.testing.assert_allclose(out, matrix.toarray() @ table, rtol=1e-5, atol=1e-5)
