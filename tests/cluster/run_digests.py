"""What two runs are compared by, and executors on which something goes wrong."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tailwright.cluster.tasks import RayTasks


def arrays_of(run: Path) -> dict[str, str]:
    """The sha256 of every file of a run that holds arrays: weights, vocabulary, counts."""
    files = json.loads((run / "manifest.json").read_text())["files"]
    return {name: entry["sha256"] for name, entry in files.items() if name.endswith((".npy", ".safetensors"))}


def events_of(log: Path, event: str) -> list[dict]:
    """The lines of a log about one kind of event."""
    return [line for line in map(json.loads, log.read_text().splitlines()) if line["event"] == event]


@dataclass(frozen=True)
class KillsAWorker:
    """Runs pieces on a cluster, where a worker dies in the midst of one piece, once."""

    tasks: RayTasks
    marks: Path
    piece: int

    @property
    def workers(self) -> int:
        return self.tasks.workers

    def run(self, task, shared, pieces, *, memory_mb=0.0) -> Iterator:
        numbered = list(enumerate(pieces))
        given = (task, shared, self.marks / f"{task.__name__}", self.piece)
        yield from self.tasks.run(killed_once, given, numbered, memory_mb=memory_mb)


def killed_once(given, numbered):
    task, shared, mark, killed = given
    number, piece = numbered
    if number == killed and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return task(shared, piece)


@dataclass
class Stops:
    """Runs pieces until `when` says so of the number that are done; then the driver is stopped."""

    tasks: RayTasks
    when: Callable[[int], bool]
    done: int = 0

    @property
    def workers(self) -> int:
        return self.tasks.workers

    def run(self, task, shared, pieces, *, memory_mb=0.0) -> Iterator:
        for result in self.tasks.run(task, shared, pieces, memory_mb=memory_mb):
            if self.when(self.done):
                raise KeyboardInterrupt
            self.done += 1
            yield result
