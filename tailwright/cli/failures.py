"""What an exception means to the user: no memory, a full disk, a missing extra, Ctrl-C."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tailwright.errors import InputError, TailwrightError, is_memory, missing_extra

LESS_MEMORY = (
    "lower settings such as batch, width or beam, use --threads 1, or train on fewer rows; "
    "`tailwright models NAME` lists the settings"
)
_OF_THE_SYSTEM = {
    errno.ENOSPC: "make room on the disk, or write elsewhere",
    errno.EDQUOT: "make room on the disk, or write elsewhere",
    errno.EFBIG: "raise the limit on the size of a file (ulimit -f), or write elsewhere",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "close other programs: the system's limit on open files is reached",
    errno.EIO: "check the disk",
}


class StoppedError(TailwrightError):
    """The user pressed Ctrl-C. Typer ends a command without a word where it sees a KeyboardInterrupt."""

    exit_code = 130


def as_one_line(error: Exception) -> TailwrightError | None:
    """The error as one line that says what to do; None for one that only a bug explains.

    >>> print(as_one_line(OSError(errno.EMFILE, "Too many open files", "a.npy")))
    a.npy: Too many open files; raise the limit on open files (ulimit -n)
    >>> as_one_line(ValueError("a shape")) is None
    True
    """
    if isinstance(error, TailwrightError):
        return error
    if is_memory(error):
        said = " ".join(str(error).split())[:160]
        problem = f"not enough memory ({said})" if said else "not enough memory"
        return InputError(problem, expected=f"less work at a time: {LESS_MEMORY}")
    if isinstance(error, OSError) and error.errno in _OF_THE_SYSTEM:
        where = f"{error.filename}: " if error.filename else ""
        return TailwrightError(f"{where}{error.strerror}; {_OF_THE_SYSTEM[error.errno]}")
    return missing_extra(error)


@contextmanager
def going_on(how: Callable[[], str]) -> Iterator[None]:
    """Ctrl-C in the block says `how()`: where the work is, and what goes on with it."""
    try:
        yield
    except KeyboardInterrupt:
        raise StoppedError(f"stopped; {how()}") from None
