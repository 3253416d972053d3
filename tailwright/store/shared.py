"""Shared work: what several trainings need is made once and kept in one folder, named by its content.

`$TAILWRIGHT_SHARED` names the folder; a study sets it for all its processes. Without it, everything is made
by each process. An entry is named by a digest of its inputs and of the code that makes it, so it is never out
of date, and results are the same to the last bit with and without sharing.

Label graphs, clusters and trees, the rows of augmentations, the classifiers that score them and the words and
pieces of `twin` are shared: loading them is several times as fast as making them
(`benchmarks/bench_shared.py`). The words of `linear` and `astec` are not, for little would be gained. The
version of the code costs each process 0.2 seconds, once.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.store.keeping import kept
from tailwright.store.npy import csr_to_arrays, strings_to_arrays
from tailwright.store.reader import FolderReader
from tailwright.store.writer import FolderWriter

Thing = TypeVar("Thing")
KeyInput: TypeAlias = "str | int | float | np.ndarray | sparse.csr_array | pa.LargeStringArray"

_KEY = re.compile("[0-9a-f]{16,128}")


class _Spared:
    """The seconds that sharing has saved this process so far, minus those it has cost."""

    seconds = 0.0


def shared_folder() -> Path | None:
    """`$TAILWRIGHT_SHARED`, or None if nothing is shared."""
    folder = os.environ.get("TAILWRIGHT_SHARED")
    return Path(folder) if folder else None


def shared(
    kind: str,
    key: Callable[[], str],
    build: Callable[[], Thing],
    save: Callable[[FolderWriter, Thing], None],
    load: Callable[[FolderReader], Thing],
) -> Thing:
    """What `build` makes; where a shared folder is set, one process makes it and the others load it.

    `key` gives the `content_key` of the inputs, the settings and the code version of `build`; it is called
    only if there is a shared folder.
    """
    folder = shared_folder()
    if folder is None:
        return build()
    started = _clock()
    name = key()
    if not _KEY.fullmatch(name):
        raise ValueError(f"key must give a digest in hexadecimal, got {name!r}")
    thing, seconds = kept(
        folder / f"{kind}-{name}",
        kind=kind,
        build=build,
        save=save,
        load=load,
        called="shared work",
        clock=_clock,
    )
    _Spared.seconds += seconds - (_clock() - started)
    return thing


def spared_seconds() -> float:
    """How much longer this process would have taken so far without shared work.

    The time measured over a span plus the growth of this figure is the time without sharing.
    """
    return _Spared.seconds


def spare(seconds: float) -> None:
    """Add the `seconds` of shared work that is kept in the shared folder by other means than `shared`."""
    _Spared.seconds += seconds


def content_key(*inputs: KeyInput) -> str:
    """A digest of the inputs, in order: text, numbers, arrays, CSR matrices, columns of strings.

    >>> content_key("a", "bc") == content_key("ab", "c")
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    for value in inputs:
        if isinstance(value, (str, int, float)):
            arrays = {"": np.frombuffer(repr(value).encode(), dtype=np.uint8)}
        elif isinstance(value, np.ndarray):
            arrays = {"": value}
        elif isinstance(value, pa.Array):
            arrays = dict(zip(("bytes", "offsets"), strings_to_arrays(value), strict=True))
        else:
            arrays = csr_to_arrays(value, "an input of the key")
        for name, array in arrays.items():
            digest.update(f"{type(value).__name__} {name} {array.dtype.str} {array.shape}\0".encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _clock() -> float:
    """A clock that runs as if nothing were shared, so that shared work inside shared work counts once."""
    return time.monotonic() + _Spared.seconds
