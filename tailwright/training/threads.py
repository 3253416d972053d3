"""How many threads a process uses: what libraries read when they are imported, and torch's own number.

torch gets as many as the kernels have, for as long as a fit or a prediction lasts.
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
    """Give torch so many threads, by default the kernels' number (set_num_threads), then its own again."""
    import torch
    from numba import get_num_threads

    before, wanted = torch.get_num_threads(), threads or get_num_threads()
    torch.set_num_threads(wanted)
    try:
        yield wanted
    finally:
        torch.set_num_threads(before)
