"""How long cells will take, from those that are finished."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean

from tailwright.study.plan.cells import Cell


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
        """Take in what a finished cell took."""
        for group in _groups(cell):
            self._known[group].append(seconds)

    def of(self, cell: Cell) -> float | None:
        """What the nearest finished cells took on average; None before there is any."""
        for group in _groups(cell):
            if self._known[group]:
                return fmean(self._known[group])
        return None

    def left(
        self, waiting: Iterable[Cell], running: Iterable[tuple[Cell, float]], workers: int
    ) -> float | None:
        """Seconds until all are done, with what each running one has had already."""
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
