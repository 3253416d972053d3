"""Pieces that are rows, cut in two where a worker has too little memory for one.

A worker may raise a MemoryError, or be killed by Ray because its node is short of memory. A piece of rows
(`tailwright.training.row_pieces`) is then done again as two halves, once; if a half is too large as well, an
error names its rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tailwright.errors import TailwrightError
from tailwright.training.row_pieces import RowPiece

ADVICE = "fewer workers a machine need less"


class WorkerMemoryError(TailwrightError, MemoryError):
    """A worker of the cluster was killed because its node was short of memory."""


@dataclass(frozen=True)
class AskedPiece:
    """A piece, or one half of it, that is to be done."""

    number: int
    piece: Any
    half: int | None = None


class Pieces:
    """Those that are still to be done, in order, and results of first halves that wait for the second."""

    def __init__(self, pieces: Sequence[Any]) -> None:
        self.waiting = deque(AskedPiece(number, piece) for number, piece in enumerate(pieces))
        self._halves: dict[int, dict[int, Any]] = {}

    def halve(self, asked: AskedPiece, error: MemoryError) -> None:
        """Have both halves of a piece done next; a TailwrightError if it cannot be cut, or has been."""
        if not isinstance(asked.piece, RowPiece):
            raise TailwrightError(f"a worker of the cluster ran out of memory; {ADVICE}") from error
        halves = asked.piece.halves() if asked.half is None else ()
        if not halves:
            raise TailwrightError(
                f"{asked.piece}: a worker of the cluster ran out of memory, with half a piece too; {ADVICE}"
            ) from error
        self.waiting.extendleft(AskedPiece(asked.number, halves[half], half) for half in (1, 0))

    def done(self, asked: AskedPiece, result: Any) -> Iterator[tuple[int, Any]]:
        """The number and the result of a piece, if it is done as a whole now."""
        if asked.half is None:
            yield asked.number, result
            return
        halves = self._halves.setdefault(asked.number, {})
        halves[asked.half] = result
        if len(halves) == 2:
            del self._halves[asked.number]
            yield asked.number, halves[0] + halves[1]
