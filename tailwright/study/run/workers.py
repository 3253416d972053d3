"""Who runs the cells of a study: processes of this machine, or whoever else can start them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tailwright.study.plan.cells import Cell
from tailwright.study.run.worker import Ended, Worker, start_worker


class Working(Protocol):
    """A cell that is being run."""

    @property
    def key(self) -> str: ...

    @property
    def cell(self) -> Cell: ...

    @property
    def seconds(self) -> float:
        """Since it was started."""

    def ended(self) -> Ended | None:
        """None while it is running, then how it ended; a failure's reason is kept in the cell's folder."""

    def stop(self) -> None:
        """End it at once: a file it was writing is complete or absent."""


class Workers(Protocol):
    """Starts cells; `count` of them may run at a time."""

    @property
    def count(self) -> int: ...

    def start(self, key: str, cell: Cell, folder: Path, curves: bool) -> Working:
        """Run the cell with everything that must survive a kill kept in `folder`."""


@dataclass(frozen=True)
class Processes:
    """A process of this machine for each cell."""

    count: int
    environment: Mapping[str, str]

    def start(self, key: str, cell: Cell, folder: Path, curves: bool) -> Worker:
        return start_worker(key, cell, folder, self.environment, curves)
