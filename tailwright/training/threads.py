"""How many threads torch uses: as many as the kernels, for as long as a fit or a prediction lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def torch_threads() -> Iterator[int]:
    """Give torch the kernels' number of threads (NUMBA_NUM_THREADS, set_num_threads), then its own again."""
    import torch
    from numba import get_num_threads

    before, wanted = torch.get_num_threads(), get_num_threads()
    torch.set_num_threads(wanted)
    try:
        yield wanted
    finally:
        torch.set_num_threads(before)
