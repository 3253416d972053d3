"""Matrix products use as many threads as they are allowed."""

from __future__ import annotations

from threadpoolctl import threadpool_info

from tailwright.training.threads import blas_threads


def counted() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_products_use_one_thread_within_the_block_and_what_they_had_behind_it():
    before = counted()
    with blas_threads(1) as threads:
        assert threads == 1
        assert counted() == {1}
    assert counted() == before
