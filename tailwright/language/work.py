"""Where long work on generators is kept: checkpoints, finished generators, texts that are already written.

A folder is named by what it is for and a digest of all that it depends on, so the same call finds its own
work again, whether it was finished or killed. Who works in one holds `alone(folder)`.
"""

from __future__ import annotations

from pathlib import Path

from tailwright.data.cache import cache_folder
from tailwright.errors import InputError
from tailwright.store.keeping import alone
from tailwright.store.shared import shared_folder

__all__ = ["alone", "work_folder"]


def work_folder(kind: str, key: str) -> Path:
    """`$TAILWRIGHT_SHARED/work/KIND-KEY` where that is set, else the same in the user's cache.

    It need not exist yet: whoever works in it makes it.
    """
    base = shared_folder()
    if base is None:
        try:
            base = cache_folder()
        except RuntimeError as error:  # no home folder, as in some containers
            raise InputError(
                f"no place for long work ({error})", expected="TAILWRIGHT_CACHE to name a folder"
            ) from error
    return base / "work" / f"{kind}-{key}"
