"""A file that is complete or absent: written in a hidden folder beside its place and renamed into it.

The folder is that of `tailwright.store.placing`: what a killed writer left goes with the next write.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailwright.store.errors import errors_of_writing
from tailwright.store.placing import clear_remains, staging


def write_whole(path: Path, content: bytes) -> None:
    """Write the file; an older one stays until the new one is complete on the disk."""
    with whole_file(path) as staged, staged.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path of the same name to write to; it is renamed in the end, or removed if the block fails."""
    with errors_of_writing(path):
        clear_remains(path)
        with staging(path) as folder:
            yield folder / path.name
            (folder / path.name).replace(path)
