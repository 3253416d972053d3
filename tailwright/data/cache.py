"""The user's cache folder: results that can be made again, kept because making them takes a while.

It is never in the way: damaged entries are made again, and where nothing can be written, work goes on
without a cache.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tailwright.errors import InputError
from tailwright.store import FolderReader, FolderWriter
from tailwright.store.keeping import kept, warn_once

Thing = TypeVar("Thing")

CALLED = "a cache"


def cache_folder() -> Path:
    """`$TAILWRIGHT_CACHE`, else `$XDG_CACHE_HOME/tailwright`, else `~/.cache/tailwright`.

    InputError where there is none of them and no home folder, as in some containers.
    """
    ours = os.environ.get("TAILWRIGHT_CACHE")
    if ours:
        return Path(ours)
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # By the XDG specification, relative paths are to be ignored.
    try:
        return (shared if shared.is_absolute() else Path.home() / ".cache") / "tailwright"
    except RuntimeError as error:
        expected = "TAILWRIGHT_CACHE to name a folder"
        raise InputError(f"no place for a cache ({error})", expected=expected) from error


def cached(
    name: str,
    *,
    kind: str,
    build: Callable[[], Thing],
    save: Callable[[FolderWriter, Thing], None],
    load: Callable[[FolderReader], Thing],
) -> Thing:
    """What `build` makes, loaded from the folder `name` of the cache, or made and kept there.

    `name` must be unique to the result: it holds a digest of the inputs and the version of the code.
    """
    try:
        place = cache_folder() / name
    except InputError as problem:
        warn_once(None, CALLED, problem)
        return build()
    return kept(place, kind=kind, build=build, save=save, load=load, called=CALLED)[0]
