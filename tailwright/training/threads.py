"""How many threads torch uses: as many as the kernels, for as long as a fit or a prediction lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


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
