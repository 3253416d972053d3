"""`writing`: a folder that is complete or absent."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse

from tailwright.store import strict_json
from tailwright.store.errors import errors_of_writing
from tailwright.store.manifest import MANIFEST, FileEntry, Manifest, check_name
from tailwright.store.npy import Strings, csr_to_arrays, npy_chunks, strings_to_arrays
from tailwright.store.placing import clear_remains, put_in_place, refuse_unless_free, staging, sync_folder
from tailwright.store.tensors import tensors_chunks


@contextmanager
def writing(path: str | Path, kind: str, overwrite: bool = False) -> Iterator[FolderWriter]:
    """A writer whose files appear together as the folder `path` when the block ends without an exception.

    Until then they lie in a hidden sibling, which is removed if the block fails, or by the next writer of the
    same place if the process is killed. `overwrite` replaces a folder that tailwright wrote, with everything
    in it, and no other; the old one stays complete until the new one takes its place.
    """
    shown = Path(path)
    manifest = Manifest(kind=kind, files={})
    with ExitStack() as stack:
        with errors_of_writing(shown):
            target = Path(os.path.realpath(shown))
            target.parent.mkdir(parents=True, exist_ok=True)
            clear_remains(target)
            refuse_unless_free(target, shown, overwrite)
            staged = stack.enter_context(staging(target))
        session = _Session(staged, shown)
        stack.callback(session.close)
        yield FolderWriter(session)
        session.write(MANIFEST, [manifest.model_copy(update={"files": session.files}).encode()])
        with errors_of_writing(shown):
            for folder in [staged, *(path for path in staged.rglob("*") if path.is_dir())]:
                sync_folder(folder)
            refuse_unless_free(target, shown, overwrite)
            put_in_place(staged, target, overwrite)


@dataclass
class _Session:
    """The state that a writer shares with its subfolders."""

    staged: Path
    shown: Path  # where the files will be, for error messages
    files: dict[str, FileEntry] = field(default_factory=dict)
    is_open: bool = True

    def add(self, name: str, chunks: Iterable[bytes | memoryview]) -> None:
        """Write a file and list it in the manifest."""
        if not self.is_open:
            raise RuntimeError(f"{self.shown} is no longer being written")
        if check_name(name).lower() == MANIFEST:
            raise ValueError(f"{MANIFEST} is written by the folder itself")
        if name in self.files:
            raise ValueError(f"{name} is written already")
        self.files[name] = self.write(name, chunks)

    def write(self, name: str, chunks: Iterable[bytes | memoryview]) -> FileEntry:
        """Write a file to the disk and hash it meanwhile."""
        digest, size = hashlib.sha256(), 0
        with errors_of_writing(self.shown / name):
            path = self.staged / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                for chunk in chunks:
                    file.write(chunk)
                    digest.update(chunk)
                    size += len(chunk)
                file.flush()
                os.fsync(file.fileno())
        return FileEntry(bytes=size, sha256=digest.hexdigest())

    def close(self) -> None:
        self.is_open = False


class FolderWriter:
    """Adds files to the folder that is being written. Names are relative; each is written once."""

    def __init__(self, session: _Session, prefix: str = "") -> None:
        self._session = session
        self._prefix = prefix

    def json(self, name: str, value: object) -> None:
        """`name` (which ends in .json) with a value of plain dicts, lists, text and finite numbers."""
        if not name.endswith(".json"):
            raise ValueError(f"the name of a JSON file ends in .json, got {name!r}")
        self._session.add(self._prefix + name, [strict_json.encode(value)])

    def markdown(self, name: str, text: str) -> None:
        """`name` (which ends in .md): a text for people, which nothing reads back."""
        if not name.endswith(".md"):
            raise ValueError(f"the name of a Markdown file ends in .md, got {name!r}")
        self._session.add(self._prefix + name, [text.encode()])

    def array(self, name: str, array: np.ndarray) -> None:
        """`name`.npy: an array of plain numbers of any shape."""
        self._session.add(f"{self._prefix}{name}.npy", npy_chunks(array, name))

    def tensors(self, name: str, tensors: Mapping[str, np.ndarray]) -> None:
        """`name`.safetensors: named arrays of plain numbers."""
        self._session.add(f"{self._prefix}{name}.safetensors", tensors_chunks(tensors, name))

    def strings(self, name: str, strings: Strings) -> None:
        """`name`.bytes.npy and `name`.offsets.npy: string i is bytes[offsets[i]:offsets[i + 1]] as UTF-8."""
        values, offsets = strings_to_arrays(strings)
        self.array(f"{name}.bytes", values)
        self.array(f"{name}.offsets", offsets)

    def csr(self, name: str, matrix: sparse.csr_array) -> None:
        """`name`.data.npy, .indices.npy, .indptr.npy and .shape.npy."""
        for kind, array in csr_to_arrays(matrix, name).items():
            self.array(f"{name}.{kind}", array)

    def sub(self, name: str) -> FolderWriter:
        """The same below `name`/."""
        return FolderWriter(self._session, f"{self._prefix}{check_name(name)}/")
