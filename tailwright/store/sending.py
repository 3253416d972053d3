"""A safe folder as bytes, for another process that does not see this disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tailwright.store.errors import errors_of_reading, errors_of_writing
from tailwright.store.manifest import MANIFEST, check_name
from tailwright.store.placing import clear_remains, put_in_place, refuse_unless_free, staging, sync_folder
from tailwright.store.reader import open_folder


def folder_as_bytes(path: Path, kind: str) -> dict[str, np.ndarray]:
    """Every file of the folder at `path` by its name, the manifest included."""
    names = [*open_folder(path, kind=kind).names(), MANIFEST]
    with errors_of_reading(path):
        return {name: np.fromfile(path / name, dtype=np.uint8) for name in names}


def write_bytes_as_folder(files: Mapping[str, np.ndarray], path: Path) -> None:
    """What `folder_as_bytes` gave, at `path`, in place of a folder that is there.

    The folder is complete or absent, as with `writing`; whoever opens it checks every byte.
    """
    with errors_of_writing(path):
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        clear_remains(target)
        refuse_unless_free(target, path, overwrite=True)
        with staging(target) as staged:
            for name, content in files.items():
                place = staged / check_name(name)
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("xb") as file:
                    file.write(np.ascontiguousarray(content).data)
                    file.flush()
                    os.fsync(file.fileno())
            for folder in [staged, *(found for found in staged.rglob("*") if found.is_dir())]:
                sync_folder(folder)
            put_in_place(staged, target, overwrite=True)
