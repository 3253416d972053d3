"""A file that is complete or absent: written beside its place and renamed into it."""

from __future__ import annotations

import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tailwright.store.errors import errors_of_writing


def write_whole(path: Path, content: bytes) -> None:
    """Write the file; an older one stays until the new one is complete on the disk."""
    with whole_file(path) as staged, staged.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to; it is renamed in the end, or removed if the block fails."""
    staged = sibling(path)
    with errors_of_writing(path):
        try:
            yield staged
            staged.replace(path)
        finally:
            staged.unlink(missing_ok=True)


def clear_siblings(path: Path) -> None:
    """Remove what killed writers of this file left; only for callers who know that nobody is writing it."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.tmp-{'[0-9a-f]' * 8}"):
        with suppress(OSError):
            left.unlink()


def sibling(path: Path) -> Path:
    """A hidden, unused name in the same folder."""
    return path.parent / f".{path.name}.tmp-{secrets.token_hex(4)}"
