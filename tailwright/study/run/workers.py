"""`Worker`: the process that works on one cell, as its study sees it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal, NamedTuple

from tailwright.store.errors import errors_of_writing
from tailwright.store.strict_json import encode
from tailwright.store.whole_file import write_whole
from tailwright.study.plan.cells import Cell
from tailwright.study.run.worker import ASKED, FINISHED, NO_SPACE, TAKEN
from tailwright.training.threads import THREAD_VARIABLES

ERROR = "error.txt"
LINES_KEPT = 30


class Ended(NamedTuple):
    """How a process ended; "taken": another process has the cell; "full": the disk is full."""

    how: Literal["finished", "taken", "failed", "full"]
    reason: str = ""


@dataclass
class Worker:
    """A process that was started for a cell."""

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
        write_whole(self.folder / ERROR, "\n".join([reason, "", *lines[-LINES_KEPT:], ""]).encode())
        return Ended("failed", reason)

    def _close(self) -> list[str]:
        """Release the process's resources and return the lines that it printed."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        with self.output as output:
            output.seek(0)
            return output.read().decode(errors="replace").splitlines() or ["it said nothing"]


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
