"""`open_folder`: every byte of a folder is checked against its manifest, and still not trusted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike
from scipy import sparse

from tailwright.errors import quoted
from tailwright.store import strict_json
from tailwright.store.errors import DamagedFolderError, errors_of_reading
from tailwright.store.manifest import FileEntry, file_inside, read_manifest
from tailwright.store.npy import (
    CSR_TYPES,
    INDEX_TYPES,
    Shape,
    check_csr,
    check_expected,
    check_finite,
    read_npy,
    strings_from_arrays,
)
from tailwright.store.tensors import read_tensors

_CHUNK = 1 << 20
_SMALLEST_MAPPED = 1 << 16  # a smaller file would take more memory in pages of its own


def open_folder(path: str | Path, kind: str, *, mapped: bool = False, finite: bool = False) -> FolderReader:
    """The folder at `path`, once its manifest, version, kind, file names, sizes and hashes are checked.

    Raises `DamagedFolderError`, one line, for whatever is wrong. Files that the manifest does not list are
    left alone. With `mapped`, large arrays are mapped into memory instead of read: processes that load the
    same folder share its pages. With `finite`, floats that are NaN, infinite or absurdly large are refused
    when they are read.
    """
    folder = Path(path)
    manifest = read_manifest(folder, kind)
    for name, entry in manifest.files.items():
        _verify(folder, name, entry)
    return FolderReader(folder, frozenset(manifest.files), mapped=mapped, finite=finite)


class FolderReader:
    """Loads the files of a checked folder; every method returns consistent data.

    A hash only shows that a file is what its writer meant, and a writer may mean harm. So each method checks
    the content too, and raises `DamagedFolderError`.
    """

    def __init__(
        self,
        root: Path,
        files: frozenset[str],
        prefix: str = "",
        *,
        mapped: bool = False,
        finite: bool = False,
    ) -> None:
        self._root = root
        self._files = files
        self._prefix = prefix
        self._mapped, self._finite = mapped, finite

    @property
    def path(self) -> Path:
        """Where this folder is, for error messages."""
        return self._root / self._prefix

    def names(self) -> list[str]:
        """The files in here and below, sorted."""
        return sorted(name[len(self._prefix) :] for name in self._files if name.startswith(self._prefix))

    def has(self, name: str) -> bool:
        """Whether the manifest lists the file `name` (with its ending)."""
        return self._prefix + name in self._files

    def tensor_bytes(self) -> int:
        """The size of all safetensors files of the whole folder: no model in it has more weights."""
        weights = [name for name in self._files if name.endswith(".safetensors")]
        return sum(file_inside(self._root, name)[1] for name in weights)

    def sub(self, name: str) -> FolderReader:
        """The same below `name`/."""
        below = f"{self._prefix}{name}/"
        return FolderReader(self._root, self._files, below, mapped=self._mapped, finite=self._finite)

    def json(self, name: str) -> Any:
        """The value in the JSON file `name`."""
        path = self._file(name)
        with errors_of_reading(path), path.open("rb") as file:
            raw = file.read(strict_json.MAX_BYTES + 1)
        try:
            return strict_json.decode(raw)
        except ValueError as error:
            raise DamagedFolderError(f"not JSON ({error})", expected="a JSON file", path=path) from error

    def array(
        self, name: str, *, dtype: DTypeLike | None = None, shape: Shape | None = None, mmap: bool = False
    ) -> np.ndarray:
        """The array `name`.npy; other dtypes and shapes than those given are refused (None: any size).

        With `mmap` the array is read-only and its pages are read on use. It outlives a folder that is
        overwritten or removed; if another program shortens the file in place, this process crashes.
        """
        path = self._file(f"{name}.npy")
        # Kernels are compiled for arrays that can be written to, and would copy others.
        private = not mmap and self._maps(path)
        array = read_npy(path, dtype=dtype, shape=shape, mmap=mmap or private, private=private)
        if self._finite:
            check_finite(array, path)
        return array

    def tensors(self, name: str, *, shapes: Mapping[str, Shape] | None = None) -> dict[str, np.ndarray]:
        """The arrays in `name`.safetensors; with `shapes`, exactly these names and shapes are accepted."""
        path = self._file(f"{name}.safetensors")
        tensors = read_tensors(path, shapes=shapes, mapped=self._maps(path))
        for key, tensor in tensors.items() if self._finite else ():
            check_finite(tensor, path, f"{quoted(key)} has ")
        return tensors

    def strings(self, name: str, *, count: int | None = None) -> pa.LargeStringArray:
        """The strings `name`; with `count`, any other number of them is refused."""
        length = None if count is None else count + 1
        values = self.array(f"{name}.bytes", dtype=np.uint8, shape=(None,))
        offsets = self.array(f"{name}.offsets", dtype=np.int64, shape=(length,))
        try:
            return strings_from_arrays(values, offsets)
        except ValueError as error:
            raise DamagedFolderError(f"{error}", expected="UTF-8 strings", path=self.path / name) from error

    def csr(
        self, name: str, *, dtype: DTypeLike | None = None, shape: Shape | None = None
    ) -> sparse.csr_array:
        """The sparse matrix `name`; other dtypes and shapes than those given are refused (None: any size)."""
        path = self.path / name
        data = self.array(f"{name}.data", dtype=dtype, shape=(None,))
        indices = self.array(f"{name}.indices", shape=(None,))
        indptr = self.array(f"{name}.indptr", shape=(None,))
        rows, columns = self.array(f"{name}.shape", dtype=np.int64, shape=(2,)).tolist()
        for array, types in ((data, CSR_TYPES), (indices, INDEX_TYPES), (indptr, INDEX_TYPES)):
            if array.dtype not in types:
                problem = f"an array of dtype {array.dtype}"
                raise DamagedFolderError(problem, expected="a CSR matrix", path=path)
        try:
            check_csr(data, indices, indptr, (rows, columns))
        except ValueError as error:
            raise DamagedFolderError(f"{error}", expected="a CSR matrix", path=path) from error
        check_expected(path, data.dtype, (rows, columns), None, shape)
        return sparse.csr_array((data, indices, indptr), shape=(rows, columns))

    def _maps(self, path: Path) -> bool:
        return self._mapped and path.stat().st_size >= _SMALLEST_MAPPED

    def _file(self, name: str) -> Path:
        if not self.has(name):
            raise DamagedFolderError(
                "is not in the manifest", expected="a file of this folder", path=self.path / name
            )
        return file_inside(self._root, self._prefix + name)[0]


def _verify(folder: Path, name: str, entry: FileEntry) -> None:
    path, size = file_inside(folder, name)
    if size != entry.bytes:
        raise DamagedFolderError(f"{size} bytes", expected=f"{entry.bytes} as in the manifest", path=path)
    digest = hashlib.sha256()
    with errors_of_reading(path), path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    if digest.hexdigest() != entry.sha256:
        problem = f"sha256 {digest.hexdigest()[:12]}…"
        raise DamagedFolderError(problem, expected=f"{entry.sha256[:12]}… as in the manifest", path=path)
