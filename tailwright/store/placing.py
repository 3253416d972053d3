"""How a folder gets to its place: written beside it, locked meanwhile, renamed or exchanged at the end.

The sibling of `run` is `.run.tmp-1f2e3d4c`. Its writer holds a lock on it, which the system drops when the
process dies, however it dies. So a sibling that can be locked was left by a dead writer, whichever machine
wrote it on a shared disk. Needs a POSIX system.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import lock_descriptor

from tailwright.errors import InputError
from tailwright.store.manifest import aside_of, is_ours

_AT_CWD = -100
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_NOT_SUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def refuse_unless_free(target: Path, shown: Path, overwrite: bool) -> None:
    """InputError unless `target` does not exist, is an empty folder, or is ours and `overwrite` is set."""
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        raise InputError("is a file", expected="a new folder", path=shown)
    if next(target.iterdir(), None) is None:
        return
    if not overwrite:
        raise InputError("exists already", expected="a new folder", path=shown)
    if not is_ours(target):
        raise InputError(
            "is no tailwright folder, so it is not overwritten", expected="a new folder", path=shown
        )


@contextmanager
def staging(target: Path) -> Iterator[Path]:
    """A new, locked sibling of `target`; whatever has its name in the end is removed."""
    staged, lock = _locked_sibling(target)
    try:
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        os.close(lock)


def put_in_place(staged: Path, target: Path, overwrite: bool) -> None:
    """`staged` becomes `target`; an old folder stays complete until then and takes the name of `staged`."""
    if overwrite and is_ours(target):
        swap(staged, target)
    else:
        staged.rename(target)
    sync_folder(target.parent)


def swap(staged: Path, target: Path) -> None:
    """Exchange two folders: in one step where the disk can, else in two."""
    if not _exchange(staged, target):
        _replace_in_two_steps(staged, target)


def clear_remains(target: Path) -> None:
    """Put back a folder that a dead writer had set aside, and remove what dead writers left behind."""
    aside = aside_of(target)
    if is_ours(aside) and not os.path.lexists(target):
        aside.rename(target)
    if is_ours(aside):
        shutil.rmtree(aside, ignore_errors=True)
    name = re.compile(re.escape(f".{target.name}.tmp-") + "[0-9a-f]{8}")
    for sibling in [entry for entry in target.parent.iterdir() if name.fullmatch(entry.name)]:
        # Another writer may be clearing the same sibling.
        with suppress(OSError):
            lock = _open_folder(sibling)
            try:
                if lock_descriptor(lock, blocking=False):
                    shutil.rmtree(sibling, ignore_errors=True)
            finally:
                os.close(lock)


def sync_folder(folder: Path) -> None:
    """Flush the names in `folder` to the disk."""
    handle = _open_folder(folder)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
    finally:
        os.close(handle)


def _locked_sibling(target: Path) -> tuple[Path, int]:
    while True:
        staged = target.parent / f".{target.name}.tmp-{secrets.token_hex(4)}"
        staged.mkdir()
        # Until it is locked, another writer may think its writer dead and remove it.
        with suppress(FileNotFoundError):
            lock = _open_folder(staged)
            # On a disk without locks nobody can tell that a writer is dead, so no sibling is ever removed.
            with suppress(OSError):
                lock_descriptor(lock)
            if staged.exists():
                return staged, lock
            os.close(lock)


def _open_folder(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one atomic step; False where the system cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "darwin":
            failed = library.renamex_np(*names, _EXCHANGE)
        else:
            failed = library.renameat2(_AT_CWD, names[0], _AT_CWD, names[1], _EXCHANGE)
    except AttributeError:  # an old C library
        return False
    if not failed:
        return True
    code = ctypes.get_errno()
    if code in _NOT_SUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(other))


def _replace_in_two_steps(staged: Path, target: Path) -> None:
    """For disks without exchange: a writer that dies between the steps leaves `aside_of(target)`."""
    aside = aside_of(target)
    target.rename(aside)
    try:
        staged.rename(target)
    except OSError:
        aside.rename(target)
        raise
    aside.rename(staged)
