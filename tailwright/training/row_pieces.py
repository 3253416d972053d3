"""Work over many rows, cut into pieces for `current_executor()`: one for this process, many for a cluster.

The result of a piece is a list, so that those of two halves can be joined: a cluster cuts a piece in two
where a worker has too little memory for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol, TypeVar, runtime_checkable

from tailwright.progress import progress
from tailwright.training.executor import InProcess, current_executor

S = TypeVar("S")
P = TypeVar("P", bound="RowPiece")
R = TypeVar("R")

PIECES_A_WORKER = 4  # few enough to cost nothing, enough that workers end at about the same time


@runtime_checkable
class RowPiece(Protocol):
    """A piece of work that is some rows; `str` names them for a message."""

    def __len__(self) -> int: ...

    def halves(self) -> Sequence[RowPiece]:
        """The same rows as two pieces; none if they cannot be cut."""


@dataclass(frozen=True)
class RowRange:
    """The rows first..last-1.

    >>> str(RowRange(1000, 1500)), [str(half) for half in RowRange(0, 3).halves()]
    ('rows 1,000 to 1,499', ['rows 0 to 0', 'rows 1 to 2'])
    """

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first

    def __str__(self) -> str:
        return f"rows {self.first:,} to {self.last - 1:,}"

    def halves(self) -> Sequence[RowRange]:
        middle = (self.first + self.last) // 2
        return (RowRange(self.first, middle), RowRange(middle, self.last)) if len(self) > 1 else ()


def row_pieces(rows: int, *, fewest: int = 1, most: int | None = None, multiple: int = 1) -> list[RowRange]:
    """All rows at once for this process; for a cluster some pieces a worker, of `fewest` to `most` rows.

    Every piece begins at a `multiple`.
    """
    executor = current_executor()
    if isinstance(executor, InProcess):
        return [RowRange(0, rows)]
    size = max(-(-rows // (PIECES_A_WORKER * executor.workers)), fewest)
    size = min(size, most or size)
    size = -(-size // multiple) * multiple
    return [RowRange(first, min(first + size, rows)) for first in range(0, rows, size)]


def over_rows(task: Callable[[S, P], list[R]], shared: S, pieces: Sequence[P], called: str) -> list[R]:
    """What `task(shared, piece)` gives for all pieces, in their order; `called` is what progress shows."""
    executor = current_executor()
    if isinstance(executor, InProcess):  # the work shows its own progress here
        return [result for piece in pieces for result in task(shared, piece)]
    found: dict[int, list[R]] = {}
    with progress(called, sum(map(len, pieces))) as advance:
        for number, results in executor.run(task, shared, pieces):
            found[number] = results
            advance(len(pieces[number]))
    return list(chain.from_iterable(found[number] for number in range(len(pieces))))
