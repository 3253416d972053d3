"""One cell in a process of its own: `python -m tailwright.study.run.worker FOLDER`.

So a cell's memory can be measured, and a cell that is killed takes no other with it. FOLDER/cell.json says
what is to be done. A lock on FOLDER/lock, which the system drops however the process ends, keeps
two studies from working on one cell at once. Standard input is a pipe from the process that started this one:
when that process is gone, this one ends.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout

from tailwright.errors import TailwrightError
from tailwright.store.strict_json import decode

FINISHED, FAILED, NO_SPACE, TAKEN = 0, 1, 74, 75
ASKED, LOCK = "cell.json", "lock"


def locked(folder: Path) -> BaseFileLock | None:
    """The lock of the cell's folder, held until it is released; None if another process holds it."""
    lock = FileLock(folder / LOCK, fallback_to_soft=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return None
    return lock


def end_with_the_parent(pipe: int) -> None:
    """Have the system end this process when the other end of `pipe` is closed, for whatever reason.

    The kernel's signal ends the process by default, also within a long call into compiled code, where a
    thread would have to wait.
    """
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    try:
        gone_already = os.read(pipe, 1) == b""
    except BlockingIOError:
        gone_already = False
    if gone_already:
        sys.exit(FAILED)


def work(folder: Path) -> int:
    """Do what FOLDER/cell.json asks, unless it is done or being done; the exit code says which."""
    lock = locked(folder)
    if lock is None:
        return TAKEN
    try:
        _finish(folder, decode((folder / ASKED).read_bytes()))
    except Exception as error:
        traceback.print_exception(error)
        # The last line is what people are shown.
        print(_said(error), file=sys.stderr)
        return NO_SPACE if _is_full(error) else FAILED
    finally:
        lock.release()
    return FINISHED


def _finish(folder: Path, asked: dict[str, Any]) -> None:
    from tailwright.study.plan.cells import cell_from
    from tailwright.study.run.exam import exam_of
    from tailwright.study.run.outcomes import is_finished, save_outcome
    from tailwright.study.run.trial import key_of, tried

    if is_finished(folder):
        return
    cell = cell_from(asked["cell"])
    exam = exam_of(cell)
    if key_of(cell, exam.corpus) != asked["key"]:
        raise TailwrightError("the data or the code changed after the study began; start it again")
    save_outcome(tried(cell, asked["key"], exam, folder, curves=asked["curves"]), folder)


def _said(error: Exception) -> str:
    what = str(error).replace("\n", " ")
    return what if isinstance(error, TailwrightError) else f"{type(error).__name__}: {what}"


def _is_full(error: BaseException | None) -> bool:
    """Whether a full disk is behind the error."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return True
        error = error.__cause__ or error.__context__
    return False


if __name__ == "__main__":
    end_with_the_parent(sys.stdin.fileno())
    sys.exit(work(Path(sys.argv[1])))
