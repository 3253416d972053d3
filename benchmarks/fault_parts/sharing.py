"""Trials of several parts, each part in a process of its own, the time shared among them by their shares.

A process that dies or does not come back from a trial is a failure of that trial; the next one gets a new
process.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from fault_parts import Outcome, Part, Trial

_UNKNOWN = "only the process of the trial knows"
SLICE = 2.0  # seconds that a part has before another may be due
_context = get_context("fork")  # from a process that has imported everything and computed nothing


class Work:
    """A part and how far it is: the next trial, what came of those before, and the seconds they took."""

    def __init__(self, part: Part, place: Path, seed: int, first: int, trials: int | None) -> None:
        self.part, self.place, self.seed = part, place, seed
        most = min((one for one in (part.count(place), trials) if one is not None), default=None)
        self.next, self.last = first, None if most is None else first + most
        self.seconds, self.came = 0.0, Counter[str]()
        self.is_busy = False
        self._heard = 0.0  # when it was given time, or when its last trial ended
        self._start()

    def _start(self) -> None:
        self.pipe, theirs = _context.Pipe()
        asked = (self.part, self.place, self.seed, theirs)
        self.process: BaseProcess = _context.Process(target=_work, args=asked, daemon=True)
        self.process.start()
        theirs.close()

    @property
    def is_over(self) -> bool:
        return self.next == self.last

    @property
    def had(self) -> float:
        """The time it had for its share of it."""
        return self.seconds / self.part.share

    def give(self, seconds: float) -> None:
        """Let it go on for some time."""
        self.pipe.send((self.next, self.last, seconds))
        self._heard, self.is_busy = time.monotonic(), True

    def heard(self, is_ready: bool) -> Outcome | None:
        """What came of the trial that has ended, if one has."""
        try:
            outcome = self.pipe.recv() if is_ready else None
        except EOFError:
            code = self._renewed()
            how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
            outcome = Outcome(_UNKNOWN, "crashed", how)
        else:
            if is_ready and outcome is None:
                self.is_busy = False
            elif not is_ready and time.monotonic() - self._heard > self.part.patience:
                self.process.kill()
                self._renewed()
                outcome = Outcome(_UNKNOWN, "does not end", f"does not end within {self.part.patience:g} s")
        if outcome is not None:
            now = time.monotonic()
            self.seconds, self._heard = self.seconds + now - self._heard, now
            self.next += 1
            self.came[outcome.came] += 1
        return outcome

    def _renewed(self) -> int:
        """Start a new process in place of one that ends, and give the exit code of that."""
        self.process.join()
        code = self.process.exitcode or 0
        self._start()
        self.is_busy = False
        return code

    def end(self) -> None:
        self.process.kill()
        self.process.join()


def shared(works: Sequence[Work], seconds: float, processes: int) -> Iterator[tuple[Work, int, Outcome]]:
    """Every trial with what came of it, until the time is over or there are no more."""
    end = time.monotonic() + seconds
    while True:
        busy = [work for work in works if work.is_busy]
        due = sorted(
            (work for work in works if not work.is_busy and not work.is_over), key=lambda work: work.had
        )
        for work in due[: processes - len(busy)] if time.monotonic() < end else ():
            work.give(SLICE)
            busy.append(work)
        if not busy:
            return
        ready = connection.wait([work.pipe for work in busy], timeout=0.5)
        for work in busy:
            number = work.next
            outcome = work.heard(work.pipe in ready)
            if outcome is not None:
                yield work, number, outcome


def _work(part: Part, place: Path, seed: int, pipe: Connection) -> None:
    """In the process of a part: do trials whenever it is asked to, and say what came of each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it ends it
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while True:
        number, last, seconds = pipe.recv()
        end = time.monotonic() + seconds
        while time.monotonic() < end and number != last:
            pipe.send(one_trial(part, place, seed, number))
            number += 1
        pipe.send(None)


def one_trial(part: Part, place: Path, seed: int, number: int) -> Outcome:
    """Do the trial of that number, in a folder of its own."""
    scratch = Path(tempfile.mkdtemp(dir=place, prefix=f"{part.name}-"))
    try:
        return part.trial(Trial(part.name, seed, number, place, scratch))
    except Exception:
        return Outcome("the trial itself", "failed", traceback.format_exc())
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
