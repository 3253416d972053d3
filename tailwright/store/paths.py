"""The file names a folder may hold, and the path of a file that is certainly inside the folder."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from tailwright.store.errors import DamagedFolderError, errors_of_reading

# One rule for every system: no "..", hidden file, absolute path, drive, backslash, NUL or Unicode form.
_STEP = r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,199}"
_NAME = re.compile(rf"{_STEP}(?:/{_STEP}){{0,15}}")


def check_name(name: str) -> str:
    """`name` itself, or ValueError.

    >>> check_name("model/weights.safetensors")
    'model/weights.safetensors'
    """
    if _NAME.fullmatch(name) is None:
        raise ValueError("a file name must be relative, of letters, digits and . _ + - between slashes")
    return name


def aside_of(folder: Path) -> Path:
    """Where an old folder is set aside, on disks that cannot exchange two folders in one step."""
    return folder.parent / f".{folder.name}.previous"


def file_inside(folder: Path, name: str) -> tuple[Path, int]:
    """The path and size of the regular file `name`; links are refused, so it cannot lie elsewhere."""
    path = shown = folder / name
    steps = name.split("/")
    for depth in range(1, len(steps) + 1):
        path = folder.joinpath(*steps[:depth])
        with errors_of_reading(shown):
            info = path.lstat()
        if stat.S_ISLNK(info.st_mode):
            raise DamagedFolderError("is a symbolic link", expected="a file inside the folder", path=path)
    if not stat.S_ISREG(info.st_mode):
        raise DamagedFolderError("is not a regular file", expected="a file inside the folder", path=path)
    return path, info.st_size
