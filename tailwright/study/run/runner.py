"""`run_study`: every cell of a plan, each in a process of its own, whatever happens on the way.

A finished cell is never run again, a killed one is resumed, a failed one leaves its error and is tried again
by the next study. Several studies may work on one folder: a cell that another study is working
on is left to it and waited for at the end.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tailwright.errors import TailwrightError
from tailwright.store import open_folder
from tailwright.store.errors import errors_of_writing
from tailwright.store.whole_file import write_whole
from tailwright.study.plan.cells import Cell
from tailwright.study.plan.plan import StudyPlan, is_asked_for
from tailwright.study.run.display import Display, Estimate, display, in_words
from tailwright.study.run.exam import Exam, read_source
from tailwright.study.run.outcomes import Made, is_finished, list_cells
from tailwright.study.run.trial import code_of
from tailwright.study.run.worker import environment_of, locked, reason_of
from tailwright.study.run.workers import Processes, Workers, Working

SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_BETWEEN_LOOKS_AT_OTHERS = 1.0


@dataclass
class Study:
    """A plan in its folder, and how far it has come."""

    plan: StudyPlan
    folder: Path
    cells: Sequence[tuple[str, Cell]]  # with their keys, in the order in which they are run
    members: Mapping[str, frozenset[str]]  # of ensembles: the keys of the cells whose runs answer together
    made: Mapping[str, Made]  # by key: the data and the code that it is of

    def keys(self, only: str | None = None) -> dict[str, Cell]:
        """Each key once, with its first cell: cells of different names may be the same."""
        cells: dict[str, Cell] = {}
        for key, cell in self.cells:
            if only is None or is_asked_for(cell, only):
                cells.setdefault(key, cell)
        return cells

    def place(self, key: str) -> Path:
        return self.folder / "cells" / key

    def is_finished(self, key: str) -> bool:
        return is_finished(self.place(key))

    def reason(self, key: str) -> str | None:
        """Why the cell failed when it was last tried."""
        return None if self.is_finished(key) else reason_of(self.place(key))

    def estimate(self) -> Estimate:
        """What the finished cells took."""
        estimate = Estimate()
        for key, cell in self.keys().items():
            if self.is_finished(key):
                estimate.add(cell, seconds_of(self.place(key)))
        return estimate


@dataclass
class Ran:
    """What came of running a study: cells that are finished by now, those that failed and why, by title."""

    asked: int
    finished: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


def prepared(plan: StudyPlan, folder: Path) -> Study:
    """The study in its folder, with the data of its cells read for their keys. Nothing is run or written."""
    digests: dict[str, str] = {}
    codes: dict[str, str] = {}

    made: dict[str, Made] = {}

    def key_of(cell: Cell) -> str:
        if cell.path not in digests:
            exam = Exam(cell.dataset, read_source(cell.path))
            digests[cell.path] = exam.corpus.digest() if len(exam.test) else ""
        methods = [(one.augment, one.augment_settings, one.search) for one in (cell, *cell.ensemble)]
        running = repr((cell.model, methods))  # all that says which code the cell runs
        if running not in codes:
            codes[running] = code_of(cell)
        data, code = digests[cell.path], codes[running]
        key = cell.key(data, code)
        made[key] = Made(key, data, code)
        return key

    cells = [(key_of(cell), cell) for cell in plan.cells()]
    members = {key: frozenset(map(key_of, cell.ensemble)) for key, cell in cells if cell.ensemble}
    return Study(plan, folder, cells, members, made)


def write_down(study: Study) -> None:
    """Make the study's folder, with the plan and the list of its cells."""
    with errors_of_writing(study.folder):
        study.folder.mkdir(parents=True, exist_ok=True)
    write_whole(study.folder / "study.toml", study.plan.text.encode())
    list_cells(study.folder, study.cells)


def run_study(
    study: Study,
    *,
    workers: int | Workers = 1,
    threads: int | None = None,
    only: str | None = None,
    shown: bool = True,
) -> Ran:
    """Run unfinished cells, `workers` at a time; these share `threads` (all cores by default).

    `workers` may also be somebody else who runs them, with threads of their own.
    """
    start = time.monotonic()
    asked = study.keys(only)
    write_down(study)
    if isinstance(workers, int):
        threads_a_worker = max(1, (threads or cores()) // workers)
        workers = Processes(workers, environment_of(study.folder / "shared", threads_a_worker))
    ran = Ran(len(asked), finished=sum(map(study.is_finished, asked)))
    with _stopped_by_signals(), display(len(asked), shown=shown) as screen:
        if ran.finished:
            screen.note(f"{ran.finished} of {len(asked)} cells are finished already")
        _Shift(study, asked, workers, screen, ran).work()
    ran.seconds = time.monotonic() - start
    return ran


@dataclass
class _Shift:
    """The cells that wait, those that are being worked on, and those that another study works on."""

    study: Study
    cells: Mapping[str, Cell]
    workers: Workers
    screen: Display
    ran: Ran

    def __post_init__(self) -> None:
        self.estimate = self.study.estimate()
        self.waiting = deque(key for key in self.cells if not self.study.is_finished(key))
        self.running: list[Working] = []
        self.elsewhere: list[str] = []

    def work(self) -> None:
        """Work until every cell is finished or has failed; whatever ends this ends the workers."""
        try:
            while self.waiting or self.running or self.elsewhere:
                while len(self.running) < self.workers.count and (key := self._next()) is not None:
                    self.waiting.remove(key)
                    cell, place, curves = self.cells[key], self.study.place(key), self.study.plan.curves
                    self.running.append(self.workers.start(key, cell, place, curves))
                    self.screen.started(cell)
                if self.running:
                    time.sleep(SECONDS_BETWEEN_LOOKS)
                    self._look()
                else:
                    self._look_elsewhere()
        finally:
            for worker in self.running:
                worker.stop()

    def _next(self) -> str | None:
        """The first cell that waits for no other; ensembles wait for their members."""
        busy = {*self.waiting, *self.elsewhere, *(worker.key for worker in self.running)}
        ready = (key for key in self.waiting if not self.study.members.get(key, frozenset()) & busy)
        return next(ready, None)

    def _look(self) -> None:
        for worker in list(self.running):
            ended = worker.ended()
            if ended is None:
                continue
            self.running.remove(worker)
            if ended.how == "full":
                raise TailwrightError(ended.reason)
            if ended.how == "taken":
                self.elsewhere.append(worker.key)
                self._say(worker.cell, "another study is working on it")
            elif ended.how == "finished":
                self.estimate.add(worker.cell, worker.seconds)
                self.ran.finished += 1
                self._say(worker.cell, in_words(worker.seconds))
            else:
                self.ran.failed[worker.cell.title] = ended.reason
                self._say(worker.cell, f"failed: {ended.reason}")

    def _look_elsewhere(self) -> None:
        """Wait for cells that other studies work on, and take over those that they gave up."""
        time.sleep(SECONDS_BETWEEN_LOOKS_AT_OTHERS)
        for key in list(self.elsewhere):
            lock = locked(self.study.place(key))
            if lock is None:
                continue
            lock.release()
            self.elsewhere.remove(key)
            if self.study.is_finished(key):
                self.ran.finished += 1
            else:
                self.waiting.append(key)

    def _say(self, cell: Cell, what: str) -> None:
        left = self.estimate.left(
            [self.cells[key] for key in self.waiting],
            [(worker.cell, worker.seconds) for worker in self.running],
            self.workers.count,
        )
        self.screen.ended(cell, self.ran.finished + len(self.ran.failed), what, left)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def seconds_of(folder: Path) -> float:
    """About how long a finished cell took to train and judge; each searched value took as long."""
    result = open_folder(folder / "outcome", kind="outcome").json("result.json")
    return float(result["train_seconds"] + result["predict_seconds"]) * max(1, len(result["searched"]))


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """SIGTERM ends a study as Ctrl-C does: its workers stop, and a note says how to go on."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
