"""`holding`: one process at a time works on a folder; any other is told at once who does.

The lock is on a file beside the folder, `.NAME.lock`, in which the holder says who it is. The system drops
the lock when its holder dies, however it dies; a lock file left behind means nothing. Those who would rather
wait than be refused use `tailwright.store.keeping.alone`.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from filelock import lock_descriptor

from tailwright.errors import InputError
from tailwright.store.errors import errors_of_writing

log = logging.getLogger(__name__)

_MOST_BYTES = 200


@contextmanager
def holding(place: Path) -> Iterator[None]:
    """Keep other processes from `place` while the block runs; an InputError names one that holds it."""
    with errors_of_writing(place):
        path = place.with_name(f".{place.name}.lock")
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = _locked(path, place)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(lock)


def _locked(path: Path, place: Path) -> int:
    """The descriptor of the lock file, locked, with this process's name in it."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            is_free = lock_descriptor(lock, blocking=False)
        except OSError as problem:
            log.warning(
                "%s: nothing keeps another process from it, as locks do not work here (%s)", place, problem
            )
            return lock
        if not is_free:
            holder = os.read(lock, _MOST_BYTES).decode("utf-8", "replace").strip() or "another process"
            os.close(lock)
            raise InputError(
                f"in use by {holder}", expected="another folder, or to wait for its end", path=place
            )
        if os.fstat(lock).st_nlink:
            os.ftruncate(lock, 0)
            os.write(lock, _this_process().encode())
            return lock
        os.close(lock)  # its last holder removed it after it was opened here


def _this_process() -> str:
    since = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    return f"process {os.getpid()} on {socket.gethostname()} since {since}"
