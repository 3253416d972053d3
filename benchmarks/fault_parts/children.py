"""Commands in processes that may be killed or starved, forked from one that has done the like before.

A new process would import torch and load kernels first, which takes longer than most trials. With one thread
and the environment of `faults.py`, what was computed before a fork is in the way of nothing after it.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from tailwright.cli import run
from tailwright.training.workplace import Workplace

_A_BUG = ("(a bug; --debug", "Traceback (most recent call last)")


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, below 0 the signal that ended it, and what stood on stderr."""

    code: int
    said: str

    def problem(self, *allowed: int) -> str:
        """What must not be; empty if it ended as allowed, and a refusal was a line for people."""
        line = self.said.strip().rpartition("\n")[2][-300:]
        if self.code < 0:
            return f"ended by {signal.Signals(-self.code).name}: {line}"
        if any(words in self.said for words in _A_BUG):
            return f"a bug: {line}"
        return "" if self.code in allowed else f"exit code {self.code}: {line}"


class Command:
    """A command of `tailwright` in a process group of its own, started at once."""

    def __init__(
        self, words: Sequence[str], said: Path, limits: Callable[[], None] = lambda: None, **environment: str
    ) -> None:
        self._said = said
        self.pid = os.fork()
        if not self.pid:
            code = 1
            try:
                code = _run(words, said, limits, environment)
            finally:
                os._exit(code)  # whatever was raised: nothing of the parent goes on in here

    def kill(self) -> None:
        """End it and all that it has started, as a power cut would."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # over already, or not a group yet
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> Ended:
        """How it ended."""
        _, status = os.waitpid(self.pid, 0)
        said = self._said.read_text(encoding="utf-8", errors="replace") if self._said.exists() else ""
        return Ended(os.waitstatus_to_exitcode(status), said)

    def wait_for(self, seconds: float) -> Ended | None:
        """How it ended within that time; None if it had to be killed."""
        end, over = time.monotonic() + seconds, False
        try:
            while not over and time.monotonic() < end:
                time.sleep(0.002)
                over = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        finally:  # nothing is left behind when the benchmark itself is stopped
            if not over:
                self.kill()
            ended = self.wait()
        return ended if over else None


def warm(words: Sequence[str]) -> None:
    """Run the command in this process: what is forked from it later finds all that it imported and loaded."""
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        run(list(words))


def _run(words: Sequence[str], said: Path, limits: Callable[[], None], environment: dict[str, str]) -> int:
    """In the forked process: the command, its output in a file."""
    try:
        os.setsid()
        os.environ.update(environment)
        file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number, to in ((0, nowhere), (1, nowhere), (2, file)):
            os.dup2(to, number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        # A checkpoint at every step: tiny trainings are over before the first one is due.
        (Workplace.__init__.__kwdefaults__ or {})["checkpoint_seconds"] = 0.0
        limits()
        try:
            code = run(list(words))
        finally:
            _lift_limits()
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    return code


def _lift_limits() -> None:
    """Limits are for the command; what it said is written however large a file may be."""
    for which in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE):
        hard = resource.getrlimit(which)[1]
        resource.setrlimit(which, (hard, hard))
