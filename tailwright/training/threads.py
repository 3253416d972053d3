"""How many threads a process uses: the variables that libraries read on import, and their own numbers.

During a fit or a prediction NumPy's matrix products and torch use as many threads as the kernels, and torch
takes denormal numbers for zero. From the first one on, it multiplies by what is quicker on this processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from tailwright.training.denormals import denormals_as_zero

# Read by numba, OpenMP (torch), BLAS libraries, Arrow and tokenizers when they are first imported.
THREAD_VARIABLES = (
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


@contextmanager
def torch_threads(threads: int | None = None) -> Iterator[int]:
    """Let torch, too, use `threads` threads inside the block, by default as many as the kernels."""
    import torch

    from tailwright.training.products import quicken_products

    quicken_products()
    before = torch.get_num_threads()
    with blas_threads(threads) as wanted, denormals_as_zero():
        torch.set_num_threads(wanted)
        try:
            yield wanted
        finally:
            torch.set_num_threads(before)


@contextmanager
def blas_threads(threads: int | None = None) -> Iterator[int]:
    """Let NumPy's matrix products use `threads` threads in the block, by default as many as the kernels."""
    from numba import get_num_threads

    wanted = threads or get_num_threads()
    with _controller().limit(limits=wanted, user_api="blas"):
        yield wanted


def blas_cores() -> set[str]:
    """The kinds of processor that the loaded BLAS libraries have chosen their kernels for."""
    return {library["architecture"] for library in _controller().info() if "architecture" in library}


@cache
def _controller() -> Any:
    import numpy as np  # noqa: F401 its library must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
