"""How many threads a process uses: the variables that libraries read on import, and torch's own number.

During a fit or a prediction torch uses as many threads as the kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
    """Let torch use `threads` threads inside the block, by default as many as numba's kernels."""
    import torch
    from numba import get_num_threads

    before, wanted = torch.get_num_threads(), threads or get_num_threads()
    torch.set_num_threads(wanted)
    try:
        yield wanted
    finally:
        torch.set_num_threads(before)
