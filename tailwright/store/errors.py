"""What can go wrong with a folder, each error one line that names the file."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailwright.errors import InputError, MissingExtraError, TailwrightError

# The user chose a place that cannot be used; anything else (full or broken disk) is not their fault.
_A_WRONG_PLACE = {
    errno.EACCES,
    errno.EEXIST,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.ENOTEMPTY,
    errno.EPERM,
    errno.EROFS,
}


class DamagedFolderError(InputError):
    """A folder is not what its manifest or its reader says it should be."""


@contextmanager
def errors_of_writing(path: Path) -> Iterator[None]:
    """Turns an OSError inside into one line about `path`."""
    try:
        yield
    except OSError as error:
        reason = f"cannot be written ({error.strerror or error})"
        if error.errno in _A_WRONG_PLACE:
            raise InputError(reason, path=path) from error
        raise TailwrightError(f"{path}: {reason}") from error


@contextmanager
def errors_of_content(path: Path) -> Iterator[None]:
    """Turns whatever goes wrong with data that do not fit together into one line about `path`.

    Their hashes are right, so a writer meant them; what they break depends on who reads them.
    """
    try:
        yield
    except InputError as error:
        if error.path is not None or isinstance(error, MissingExtraError):
            raise
        raise DamagedFolderError(error.found, expected=error.expected, path=path) from error
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        problem = f"content that does not fit together ({type(error).__name__}: {reason})"
        raise DamagedFolderError(problem, path=path) from error


@contextmanager
def errors_of_reading(path: Path) -> Iterator[None]:
    """Turns an OSError inside into one line about `path`; a missing file counts as damage."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DamagedFolderError("is missing", expected="a file of this folder", path=path) from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", path=path) from error
