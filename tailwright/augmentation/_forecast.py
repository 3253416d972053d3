"""`Forecast`: what adding rows will take, said before it is done."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Forecast:
    """What a method that adds rows will take on one corpus, on this machine.

    | field | holds |
    |---|---|
    | `sources` | rows (or labels) that new rows are made from |
    | `rows` | new rows at most |
    | `seconds` | from the beginning, as if nothing were kept from before |
    | `memory_mb` | of the process at its peak |
    | `disk_mb` | what is written, work that is kept for a continuation included |
    | `lines` | what the figures are made of, in words |
    """

    sources: int
    rows: int
    seconds: float
    memory_mb: float
    disk_mb: float
    lines: tuple[str, ...] = ()

    @property
    def machine_hours(self) -> float:
        """The seconds in hours of this machine, to be multiplied by what an hour costs."""
        return self.seconds / 3600
