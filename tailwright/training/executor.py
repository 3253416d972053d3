"""Who does work that comes in pieces which need nothing of each other: this process, or a cluster.

A fit that is made of such pieces (trees, shards of labels, parts of a fusion) hands them to
`current_executor()`. Inside `executing_on` that is somebody else's; the results are the same, as every piece
draws from streams of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

S = TypeVar("S")
P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Held(Generic[S]):
    """A `shared` that takes long to unpack, such as a model: another process unpacks it once, and keeps it.

    Handed to `run` several times, it is sent once.
    """

    thing: S


class Executor(Protocol):
    """Runs tasks, at most `workers` at a time."""

    workers: int

    def run(
        self, task: Callable[[S, P], R], shared: S, pieces: Sequence[P], *, memory_mb: float = 0.0
    ) -> Iterator[tuple[int, R]]:
        """(number of a piece, `task(shared, piece)`), in the order in which they are done.

        `task` is a function of a module: it may run in another process, which gets `shared` once.
        `memory_mb` is what one piece is forecast to take.
        """


class InProcess:
    """One piece after the other, here."""

    workers = 1

    def run(
        self, task: Callable[[S, P], R], shared: S, pieces: Sequence[P], *, memory_mb: float = 0.0
    ) -> Iterator[tuple[int, R]]:
        for number, piece in enumerate(pieces):
            yield number, task(shared, piece)


_executors: list[Executor] = [InProcess()]  # the last one is at work


def current_executor() -> Executor:
    """Who does pieces of work at the moment."""
    return _executors[-1]


def elsewhere() -> Executor | None:
    """Who does pieces of work inside `executing_on`; None where this process does all that there is.

    A fit that has a quicker way in one process than by pieces takes that if there is nobody else.
    """
    return None if len(_executors) == 1 else _executors[-1]


@contextmanager
def executing_on(executor: Executor) -> Iterator[None]:
    """Within it pieces are done by that executor."""
    _executors.append(executor)
    try:
        yield
    finally:
        _executors.pop()
