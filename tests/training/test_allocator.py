"""Freed memory stays with the process while a torch network is trained."""

from __future__ import annotations

import platform
import resource

import numpy as np
import pytest

from tailwright.training.allocator import keep_freed_memory

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")


def test_buffers_that_are_freed_and_asked_for_again_cost_no_new_pages() -> None:
    assert keep_freed_memory()
    size, times = 48 * 2**20, 8
    np.ones(size, dtype=np.uint8)  # the pages that the others take again
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        np.ones(size, dtype=np.uint8)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    assert faults < size // resource.getpagesize()  # less than one of the eight buffers has
