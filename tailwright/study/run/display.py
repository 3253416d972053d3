"""What a study says while it runs, on stderr, and its guess of how long it will take.

In a terminal there are bars, elsewhere a line for each cell.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean
from typing import TYPE_CHECKING

from tailwright.study.plan.cells import Cell

if TYPE_CHECKING:
    from rich.progress import TaskID


class Display:
    """What a study reports to, in a `with` statement; this one shows nothing."""

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left on the screen."""

    def started(self, cell: Cell) -> None:
        """A cell is being trained."""

    def ended(self, cell: Cell, done: int, what: str, left: float | None) -> None:
        """`done` cells have been dealt with; `left` is an estimate in seconds, None if there is none."""

    def note(self, text: str) -> None:
        """Something else that people should know."""


def display(total: int, *, shown: bool = True) -> Display:
    """Bars in a terminal, lines elsewhere, nothing unless `shown`."""
    if not shown:
        return Display()
    return Bars(total) if sys.stderr.isatty() else Lines(total)


class Lines(Display):
    """A line whenever a cell ends."""

    def __init__(self, total: int) -> None:
        self.total = total

    def ended(self, cell: Cell, done: int, what: str, left: float | None) -> None:
        self.note(ended_line(cell, done, self.total, what, left))

    def note(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class Bars(Display):
    """One bar for the study and a line for each cell that is running, below the notes."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self.total = total
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),  # titles may hold square brackets
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._study = self._bars.add_task("study", total=total, left="")
        self._running: dict[str, TaskID] = {}

    def __enter__(self) -> Display:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def started(self, cell: Cell) -> None:
        self._running[cell.title] = self._bars.add_task(cell.title, total=None, left="")

    def ended(self, cell: Cell, done: int, what: str, left: float | None) -> None:
        self._bars.remove_task(self._running.pop(cell.title))
        words = "" if left is None else f"about {in_words(left)} left"
        self._bars.update(self._study, completed=done, left=words)
        self.note(ended_line(cell, done, self.total, what, None))

    def note(self, text: str) -> None:
        self._bars.console.print(text, markup=False, highlight=False)


def ended_line(cell: Cell, done: int, total: int, what: str, left: float | None) -> str:
    """One line on a cell that has ended, with what is left where that is known."""
    rest = "" if left is None or done == total else f"; about {in_words(left)} left"
    return f"[{done}/{total}] {cell.title}: {what}{rest}"


class Estimate:
    """Seconds of finished cells, and what they say of others.

    >>> estimate = Estimate()
    >>> estimate.add(Cell("short", "", "twin"), 10.0)
    >>> estimate.of(Cell("short", "", "twin", seed=1))
    10.0
    """

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], list[float]] = defaultdict(list)

    def add(self, cell: Cell, seconds: float) -> None:
        """Record how long a finished cell took."""
        for group in _groups(cell):
            self._known[group].append(seconds)

    def of(self, cell: Cell) -> float | None:
        """The mean time of the most similar finished cells; None before there is any."""
        for group in _groups(cell):
            if self._known[group]:
                return fmean(self._known[group])
        return None

    def left(
        self, waiting: Iterable[Cell], running: Iterable[tuple[Cell, float]], workers: int
    ) -> float | None:
        """Seconds until all are done; running cells come with the seconds they have had."""
        total = 0.0
        for cell, had in [*((cell, 0.0) for cell in waiting), *running]:
            needed = self.of(cell)
            if needed is None:
                return None
            total += max(needed - had, 0.0)
        return total / workers


def _groups(cell: Cell) -> list[tuple[object, ...]]:
    """From the cells most like this one to all cells."""
    alike = (cell.dataset, cell.system, cell.fraction)
    return [(*alike, cell.augmentation), alike, (cell.system, cell.fraction), ()]


def in_words(seconds: float) -> str:
    """A length of time for people.

    >>> in_words(42), in_words(600), in_words(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
