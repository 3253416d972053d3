"""Kernels over blocks of rows, in threads."""

from __future__ import annotations

import multiprocessing

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.kernels.blocks import run_blocks, run_rows


@pytest.fixture
def as_before():
    before = numba.get_num_threads()
    yield before
    numba.set_num_threads(before)


def ten_blocks() -> list[int]:
    return run_blocks(lambda first, last: last - first, [(0, size) for size in range(10)])


def test_results_come_in_the_order_of_the_blocks():
    assert ten_blocks() == list(range(10))
    assert run_blocks(lambda first, last: last, []) == []


@given(rows=st.integers(0, 200), fewest=st.integers(1, 50))
def test_every_row_is_in_one_block_and_no_block_is_too_small(rows, fewest):
    met, sizes = np.zeros(rows, dtype=int), []

    def count(first: int, last: int) -> None:
        met[first:last] += 1
        sizes.append(last - first)

    run_rows(count, rows, fewest)
    assert (met == 1).all()
    assert min(sizes) >= min(rows, fewest)


def test_there_is_a_block_for_each_thread(as_before):
    for threads in range(1, as_before + 1):
        numba.set_num_threads(threads)
        sizes: list[int] = []
        run_rows(lambda first, last, sizes=sizes: sizes.append(last - first), 1000, 10)
        assert len(sizes) == threads


def test_an_error_in_a_block_is_raised():
    def fail(first: int, last: int) -> None:
        if first == 0:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run_blocks(fail, [(0, 1), (1, 2)])


def test_a_forked_process_has_threads_of_its_own():
    assert ten_blocks() == list(range(10))
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(ten_blocks).get(timeout=60) == list(range(10))
