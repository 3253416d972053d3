"""The correlation graph as a file in scipy's own format."""

from __future__ import annotations

import os
from pathlib import Path

from scipy import sparse

from tailwright.errors import InputError
from tailwright.store.whole_file import whole_file


def save_graph(graph: sparse.csr_array, path: str | Path) -> None:
    """Write a file that `scipy.sparse.load_npz` reads, completely or not at all."""
    path = Path(path)
    if path.suffix != ".npz":
        raise InputError(f"found {path.suffix or 'no suffix'}", expected=".npz", path=path)
    with whole_file(path) as staged, staged.open("xb") as file:
        sparse.save_npz(file, graph)
        file.flush()
        os.fsync(file.fileno())
