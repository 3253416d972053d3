"""A process for each cell, seen from both sides: `python -m tailwright.study.run.worker FOLDER`.

So a cell's memory can be measured, and a cell that is killed takes no other with it. FOLDER/cell.json says
what to do. A lock on FOLDER/lock, which the system drops however the process ends, keeps
two studies from working on one cell at once. Standard input is a pipe from the study: when the study is gone,
the process ends.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from filelock import BaseFileLock, FileLock, Timeout

from tailwright.errors import TailwrightError
from tailwright.store.errors import errors_of_writing
from tailwright.store.strict_json import decode, encode
from tailwright.store.whole_file import write_whole
from tailwright.study.plan.cells import Cell, cell_from
from tailwright.training.threads import THREAD_VARIABLES

FINISHED, FAILED, NO_SPACE, TAKEN = 0, 1, 74, 75  # exit codes
ASKED, LOCK, ERROR = "cell.json", "lock", "error.txt"
LINES_KEPT = 30


class Ended(NamedTuple):
    """How a process ended; "taken": another process has the cell; "full": the disk is full."""

    how: Literal["finished", "taken", "failed", "full"]
    reason: str = ""


@dataclass
class Worker:
    key: str
    cell: Cell
    folder: Path
    process: subprocess.Popen[bytes]
    output: IO[bytes]  # without a name: another study may have started a process for the same cell
    start: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.start

    def stop(self) -> None:
        """End it at once: a file it was writing is complete or absent."""
        self.process.kill()
        self._close()

    def ended(self) -> Ended | None:
        """None while it is running, then how it ended; a failure's reason is kept in the cell's folder."""
        code = self.process.poll()
        if code is None:
            return None
        lines = self._close()
        if code == TAKEN:
            return Ended("taken")
        if code == NO_SPACE:
            return Ended("full", lines[-1])
        if code == FINISHED:
            (self.folder / ERROR).unlink(missing_ok=True)
            return Ended("finished")
        reason = f"killed by {signal.Signals(-code).name}" if code < 0 else lines[-1]
        if code == -signal.SIGKILL:
            reason += ", most likely for lack of memory"
        return failed(self.folder, reason, lines)

    def _close(self) -> list[str]:
        """Release the process's resources and return the lines that it printed."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        with self.output as output:
            output.seek(0)
            return output.read().decode(errors="replace").splitlines() or ["it said nothing"]


def failed(folder: Path, reason: str, lines: Sequence[str] = ()) -> Ended:
    """A failure whose reason is kept in the cell's folder, with the last of the lines that were printed."""
    write_whole(folder / ERROR, "\n".join([reason, "", *lines[-LINES_KEPT:], ""]).encode())
    return Ended("failed", reason)


def start_worker(key: str, cell: Cell, folder: Path, environment: Mapping[str, str], curves: bool) -> Worker:
    """Start a process for the cell, in a session of its own, so that signals reach the study alone."""
    with errors_of_writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / ASKED, encode({"key": key, "cell": cell.as_dict(), "curves": curves}))
        output = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        process = subprocess.Popen(
            [sys.executable, "-m", "tailwright.study.run.worker", str(folder)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=dict(environment),
            start_new_session=True,
        )
    return Worker(key, cell, folder, process, output)


def environment_of(shared: Path, threads: int) -> dict[str, str]:
    """The environment of workers: their number of threads, and where work is shared."""
    limits = dict.fromkeys(THREAD_VARIABLES, str(threads))
    return {**os.environ, **limits, "TAILWRIGHT_SHARED": str(shared)}


def reason_of(folder: Path) -> str | None:
    """Why the cell in this folder failed when it was last tried, in one line; None if it did not."""
    path = folder / ERROR
    return path.read_text(encoding="utf-8", errors="replace").partition("\n")[0] if path.is_file() else None


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
        kind = "" if isinstance(error, TailwrightError) else f"{type(error).__name__}: "
        print(kind + str(error).replace("\n", " "), file=sys.stderr)
        return NO_SPACE if _is_full(error) else FAILED
    finally:
        lock.release()
    return FINISHED


def _finish(folder: Path, asked: dict[str, Any]) -> None:
    # Only now: loading these takes seconds, in which the study may end.
    from tailwright.study.run.exam import exam_of
    from tailwright.study.run.outcomes import is_finished, save_outcome
    from tailwright.study.run.trial import made_of, tried

    if is_finished(folder):
        return
    cell = cell_from(asked["cell"])
    exam = exam_of(cell)
    made = made_of(cell, exam.corpus)
    if made.key != asked["key"]:
        raise TailwrightError("the data or the code changed after the study began; start it again")
    save_outcome(replace(tried(cell, made.key, exam, folder, curves=asked["curves"]), made=made), folder)


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
