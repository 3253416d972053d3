"""The correlation graph as a file of scipy's own format."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from scipy import sparse

from tailwright.errors import InputError


def save_graph(graph: sparse.csr_array, path: str | Path) -> None:
    """The graph as a file that `scipy.sparse.load_npz` reads; there is the whole file or none."""
    path = Path(path)
    if path.suffix != ".npz":
        raise InputError(f"found {path.suffix or 'no suffix'}", expected=".npz", path=path)
    staged = path.parent / f".{path.name}.tmp-{secrets.token_hex(4)}"
    try:
        with staged.open("xb") as file:
            sparse.save_npz(file, graph)
            file.flush()
            os.fsync(file.fileno())
        staged.replace(path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=path) from error
    finally:
        staged.unlink(missing_ok=True)
