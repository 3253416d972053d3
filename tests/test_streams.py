"""Random streams: one a (seed, method, row), whatever the order or the workers."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.streams import stream


def draw(row: int) -> list[float]:
    return stream(3, "eda", row).random(4).tolist()


def test_results_depend_neither_on_order_nor_on_workers():
    rows = list(range(40))
    alone = [draw(row) for row in rows]
    assert [draw(row) for row in reversed(rows)][::-1] == alone
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(draw, rows)) == alone
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as workers:
        assert list(workers.map(draw, rows, chunksize=7)) == alone


def test_streams_are_the_same_on_every_machine_and_release():
    assert stream(0, "eda", 0).integers(0, 1000, 4).tolist() == GOLDEN


GOLDEN = [77, 337, 205, 195]


@given(st.integers(0, 2**31), st.integers(0, 10**9), st.sampled_from(["eda", "gandalf", "labelmix"]))
def test_any_other_seed_row_or_method_gives_another_stream(seed, row, method):
    here = stream(seed, method, row).random(4).tolist()
    assert here != stream(seed + 1, method, row).random(4).tolist()
    assert here != stream(seed, method, row + 1).random(4).tolist()
    assert here != stream(seed, method + "x", row).random(4).tolist()


def test_neighbouring_rows_are_not_correlated():
    draws = np.array([stream(0, "eda", row).random(8) for row in range(4000)])
    assert abs(np.corrcoef(draws[:-1, 0], draws[1:, 0])[0, 1]) < 0.05
    assert abs(draws.mean() - 0.5) < 0.01


def test_a_negative_row_is_refused():
    with pytest.raises(ValueError, match="row must be >= 0"):
        stream(0, "eda", -1)
