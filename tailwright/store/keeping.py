"""`kept`: what takes a while to make is made once, by one process, and loaded by all the others.

The process that makes an entry holds a lock beside it; others that want the same entry wait, then load it.
The system drops the lock when its holder dies, however it dies, so the next process takes over; a lock file
left behind means nothing. An entry is a safe folder: complete or absent.

Trouble with the folder is never an error: a damaged entry is made again, and where nothing can be written or
locked, work goes on without it.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

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
    """What `build` makes, loaded from the folder `place` if it is there, and the seconds it took to make.

    The name of `place` must be unique to the result. Where nothing can be kept, a warning says that work goes
    on without `called`. `clock` measures the seconds.
    """
    try:
        return _loaded(place, kind, load)
    except (TailwrightError, OSError):
        pass  # looked at again once the lock is held
    with alone(place):
        try:
            return _loaded(place, kind, load)
        except (TailwrightError, OSError) as problem:
            if os.path.lexists(place):
                log.info("made again: %s", problem)
                _discard(place)
        started = clock()
        thing = build()
        seconds = clock() - started
        try:
            with writing(place, kind=kind, overwrite=True) as folder:
                folder.json(_MAKING, {"seconds": seconds})
                save(folder, thing)
        except (TailwrightError, OSError) as problem:
            if not is_complete(place, kind):  # else another process has just written it
                warn_once(place.parent, called, problem)
    return thing, seconds


def warn_once(folder: Path | None, called: str, problem: Exception) -> None:
    """Warn once for each folder in which nothing can be kept."""
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
def alone(place: Path) -> Iterator[None]:
    """While the block runs, no other process is in such a block for the same place, where locks work."""
    path = place.with_name(f".{place.name}.lock")
    lock = FileLock(path, fallback_to_soft=False)
    locked = False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            log.info("waiting for another process to make %s", place.name)
            lock.acquire()
        locked = True
    except OSError:  # no folder or no locks: every process makes it, and one of the results is kept
        with suppress(OSError):
            path.unlink()
    try:
        yield
    finally:
        if locked:
            with suppress(OSError):  # waiting processes notice that the file is gone and lock a new one
                path.unlink()
            lock.release()


def _discard(place: Path) -> None:
    """Remove a damaged entry, which may no longer look like one of ours, so that it can be written again."""
    try:
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink()
    except OSError as problem:
        log.info("cannot be removed: %s", problem)


def is_complete(place: Path, kind: str) -> bool:
    """Whether there is an undamaged folder of this kind at `place`."""
    try:
        open_folder(place, kind=kind)
    except (TailwrightError, OSError):
        return False
    return True
