"""The user's cache folder: things that can be made again, kept because making them takes a while.

It is never in the way: what is damaged is made anew, and where nothing can be written work goes on without.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tailwright.errors import TailwrightError
from tailwright.store import FolderReader, FolderWriter, open_folder, writing

log = logging.getLogger(__name__)

Thing = TypeVar("Thing")

_warned_of: set[Path | None] = set()


def cache_folder() -> Path:
    """`$TAILWRIGHT_CACHE`, else `$XDG_CACHE_HOME/tailwright`, else `~/.cache/tailwright`."""
    ours = os.environ.get("TAILWRIGHT_CACHE")
    if ours:
        return Path(ours)
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG rules: a relative path there is to be ignored.
    return (shared if shared.is_absolute() else Path.home() / ".cache") / "tailwright"


def cached(
    name: str,
    *,
    kind: str,
    build: Callable[[], Thing],
    save: Callable[[FolderWriter, Thing], None],
    load: Callable[[FolderReader], Thing],
) -> Thing:
    """What `build` makes: loaded from the folder `name` of the cache if that is whole, else kept there.

    `name` must tell apart all that `build` may make: it holds a digest of the inputs and the code's version.
    """
    try:
        place = cache_folder() / name
    except RuntimeError as problem:  # no home folder, as in some containers
        _warn_once(None, problem)
        return build()
    try:
        return load(open_folder(place, kind=kind))
    except (TailwrightError, OSError) as problem:
        if os.path.lexists(place):
            log.info("made anew: %s", problem)
            _discard(place)
    thing = build()
    try:
        with writing(place, kind=kind, overwrite=True) as folder:
            save(folder, thing)
    except (TailwrightError, OSError) as problem:
        if not _is_whole(place, kind):  # else another process has just written the same
            _warn_once(place.parent, problem)
    return thing


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


def _warn_once(folder: Path | None, problem: Exception) -> None:
    if folder not in _warned_of:
        _warned_of.add(folder)
        log.warning("working without a cache: %s", problem)
