"""`kept`: what takes a while to make is made once, by one process, and loaded by all others.

A maker holds a lock beside the entry, and whoever wants the same waits for it, then loads. The system drops
the lock when its holder dies, however it dies, so a killed maker is followed by the next one; a lock file
that it leaves behind means nothing. An entry is a safe folder: there whole or not at all.

Nothing that happens to the folder is an error: what is damaged is made anew, and where nothing can be written
or locked, work goes on without.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from tailwright.errors import TailwrightError
from tailwright.store.errors import DamagedFolderError
from tailwright.store.reader import FolderReader, open_folder
from tailwright.store.writer import FolderWriter, writing

log = logging.getLogger(__name__)

Thing = TypeVar("Thing")

_MAKING = "making.json"
_warned_of: set[Path | None] = set()


def kept(
    place: Path,
    *,
    kind: str,
    build: Callable[[], Thing],
    save: Callable[[FolderWriter, Thing], None],
    load: Callable[[FolderReader], Thing],
    called: str,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[Thing, float]:
    """What `build` makes, from the folder `place` if it is whole there, and the seconds that making it took.

    The name of `place` must tell apart all that `build` may make. `called` is what the user is told to be
    working without where nothing can be kept; `clock` is what the seconds are taken from.
    """
    try:
        return _loaded(place, kind, load)
    except (TailwrightError, OSError):
        pass  # looked at again by the one who holds the lock
    with alone(place):
        try:
            return _loaded(place, kind, load)
        except (TailwrightError, OSError) as problem:
            if os.path.lexists(place):
                log.info("made anew: %s", problem)
                _discard(place)
        started = clock()
        thing = build()
        seconds = clock() - started
        try:
            with writing(place, kind=kind, overwrite=True) as folder:
                folder.json(_MAKING, {"seconds": seconds})
                save(folder, thing)
        except (TailwrightError, OSError) as problem:
            if not _is_whole(place, kind):  # else another process has just written the same
                warn_once(place.parent, called, problem)
    return thing, seconds


def warn_once(folder: Path | None, called: str, problem: Exception) -> None:
    """One warning a folder that nothing can be kept in."""
    if folder not in _warned_of:
        _warned_of.add(folder)
        log.warning("working without %s: %s", called, problem)


def _loaded(place: Path, kind: str, load: Callable[[FolderReader], Thing]) -> tuple[Thing, float]:
    folder = open_folder(place, kind=kind)
    making = folder.json(_MAKING)
    seconds = making.get("seconds") if isinstance(making, dict) else None
    if not isinstance(seconds, (int, float)):
        raise DamagedFolderError("no time of making", expected="seconds", path=folder.path / _MAKING)
    return load(folder), float(seconds)


@contextmanager
def alone(place: Path) -> Iterator[bool]:
    """Until the block ends, no other process is in such a block for the same place.

    True is given where that holds, False where locks do not work.
    """
    path = place.with_name(f".{place.name}.lock")
    lock = None
    with suppress(OSError):  # no folder, no locks: as many makers as there are, and one of them is kept
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = _locked(path)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            with suppress(OSError):
                path.unlink()
            os.close(lock)


def _locked(path: Path) -> int:
    """A handle that holds the lock of the file `path`."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            _wait_for(lock, path)
            # Who held it before has removed the file; a lock on what is no longer there keeps nobody out.
            if _is_still(path, lock):
                return lock
        except OSError:
            path.unlink(missing_ok=True)
            os.close(lock)
            raise
        os.close(lock)


def _wait_for(lock: int, path: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        log.info("waiting for another process to make %s", path.name[1:].removesuffix(".lock"))
        fcntl.flock(lock, fcntl.LOCK_EX)


def _is_still(path: Path, lock: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(lock))
    except FileNotFoundError:
        return False


def _discard(place: Path) -> None:
    """Remove a damaged entry, so that it is written again even where no sign of ours is left in it."""
    try:
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink()
    except OSError as problem:
        log.info("cannot be removed: %s", problem)


def _is_whole(place: Path, kind: str) -> bool:
    try:
        open_folder(place, kind=kind)
    except (TailwrightError, OSError):
        return False
    return True
