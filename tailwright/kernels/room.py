"""Room for large arrays: in memory, or, within `in_files`, in files that have no name.

An array in a file is a plain, writeable one over a shared mapping, so kernels are compiled once for both. The
system writes its pages out and takes their memory back as it likes. The file goes with the last array over
it, and with a process that is killed. Its space on the disk is reserved, so that a full disk is an error here
and not a crash where a page is written.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from tailwright.errors import InputError

LARGE = 8 << 20  # bytes: smaller arrays stay in memory

_folder: Path | None = None


@contextmanager
def in_files(folder: Path) -> Iterator[None]:
    """Within it, and in all threads, large arrays are in files of `folder`."""
    global _folder  # noqa: PLW0603 (threads that solve nodes must see it)
    before, _folder = _folder, folder
    try:
        yield
    finally:
        _folder = before


def is_in_files() -> bool:
    """Whether large arrays are in files now."""
    return _folder is not None


def room(count: int, dtype: DTypeLike) -> np.ndarray:
    """An array to be filled, as `np.empty` gives it."""
    size = int(count) * np.dtype(dtype).itemsize
    if _folder is None or size < max(LARGE, 1):
        return np.empty(count, dtype)
    with _errors(_folder, size), tempfile.TemporaryFile(dir=_folder) as file:
        os.posix_fallocate(file.fileno(), 0, size)
        return np.frombuffer(mmap.mmap(file.fileno(), size), dtype)


class Pile:
    """Arrays that are put one behind the other, to be one array in a file; only the newest is in memory.

    The file is in the folder of `in_files`, or else among the temporary ones of the system.

    >>> with Pile(np.int32) as pile:
    ...     pile.add(np.array([1, 2]))
    ...     pile.add(np.array([3]))
    ...     pile.array().tolist()
    [1, 2, 3]
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self._dtype, self._size = np.dtype(dtype), 0
        self._folder = _folder or Path(tempfile.gettempdir())
        self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (closed by `__exit__`)

    def __enter__(self) -> Pile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, array: np.ndarray) -> None:
        with _errors(self._folder, array.nbytes):
            self._file.write(np.ascontiguousarray(array, self._dtype).data)
        self._size += len(array) * self._dtype.itemsize

    def array(self) -> np.ndarray:
        """All that was added so far, which outlives the pile."""
        with _errors(self._folder, self._size):
            self._file.flush()
            if not self._size:
                return np.empty(0, self._dtype)
            return np.frombuffer(mmap.mmap(self._file.fileno(), self._size), self._dtype)


@contextmanager
def _errors(folder: Path, size: int) -> Iterator[None]:
    """A disk that cannot hold so many bytes more, in one line."""
    try:
        yield
    except OSError as error:
        found = f"{error.strerror} where {size / 2**20:,.0f} MB of a corpus larger than memory were to go"
        raise InputError(found, expected="a disk with more room, or a smaller corpus", path=folder) from error
