"""`RayTasks`: an executor whose pieces are tasks of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from tailwright.cluster.connection import Cluster
from tailwright.cluster.halves import ADVICE, AskedPiece, Pieces, WorkerMemoryError
from tailwright.cluster.room import say_if_none_fits
from tailwright.errors import TailwrightError
from tailwright.training.executor import Held
from tailwright.training.memory import MB

S = TypeVar("S")
P = TypeVar("P")
R = TypeVar("R")

RETRIES = 3  # of a task whose worker or node is gone
WAITING_A_WORKER = 1  # tasks that wait behind those that run: enough to keep a worker busy


@dataclass(frozen=True)
class RayTasks:
    """Runs pieces on a cluster; `shared` is sent once, results come back through Ray's object store."""

    cluster: Cluster

    @property
    def workers(self) -> int:
        return self.cluster.workers

    def run(
        self, task: Callable[[S, P], R], shared: S, pieces: Sequence[P], *, memory_mb: float = 0.0
    ) -> Iterator[tuple[int, R]]:
        import ray

        remote = ray.remote(num_cpus=self.cluster.threads, memory=int(memory_mb * MB), max_retries=RETRIES)(
            _with_held(task) if isinstance(shared, Held) else task
        )
        say_if_none_fits(self.cluster.threads, memory_mb)
        # A reference inside a list is passed on as it is, so that a worker can look at what it has.
        sent = [_sent_once(shared)] if isinstance(shared, Held) else ray.put(shared)
        left, most = Pieces(pieces), self._tasks_at_a_time()
        running: dict[Any, AskedPiece] = {}
        # Whoever leaves early leaves running tasks to themselves, until they or the connection end: a
        # task that is cancelled in the moment it is done ends the whole process (a check within Ray fails).
        while left.waiting or running:
            while left.waiting and len(running) < most:
                asked = left.waiting.popleft()
                running[remote.remote(sent, asked.piece)] = asked
            done, _ = ray.wait(list(running), num_returns=1)
            asked = running.pop(done[0])
            try:
                result = result_of(done[0])
            except MemoryError as error:
                left.halve(asked, error)
            else:
                yield from left.done(asked, result)

    def _tasks_at_a_time(self) -> int:
        """Some wait behind those that run, unless the cluster has cores for more than the asked workers."""
        import ray

        fit = int(ray.cluster_resources().get("CPU", 1)) // self.cluster.threads
        return self.workers * (1 + WAITING_A_WORKER) if fit <= self.workers else self.workers


_sent: WeakKeyDictionary[Held[Any], Any] = WeakKeyDictionary()  # by the process that asks
_unpacked: dict[str, Any] = {}  # by a worker: the one thing that it keeps


def _sent_once(held: Held[Any]) -> Any:
    import ray

    if held not in _sent:
        _sent[held] = ray.put(held)
    return _sent[held]


def _with_held(task: Callable[[Any, Any], Any]) -> Callable[[list[Any], Any], Any]:
    def with_held(references: list[Any], piece: Any) -> Any:
        return task(kept_by_worker(references[0]), piece)

    return with_held


def kept_by_worker(reference: Any) -> Any:
    """What a reference stands for, unpacked on the first call; what was kept before is dropped."""
    import ray

    name = reference.hex()
    if name not in _unpacked:
        _unpacked.clear()
        _unpacked[name] = ray.get(reference)
    return _unpacked[name]


def result_of(reference: Any) -> Any:
    """The result of a task; its own error if it raised one, a line on the cluster if a worker was lost."""
    import ray
    from ray import exceptions

    try:
        return ray.get(reference)
    except exceptions.RayTaskError as error:
        raise error.cause if isinstance(error.cause, Exception) else error from None
    except exceptions.OutOfMemoryError as error:
        raise WorkerMemoryError(f"a worker of the cluster ran out of memory; {ADVICE}") from error
    except exceptions.RayError as error:
        raise TailwrightError(f"a worker of the cluster was lost {RETRIES + 1} times") from error
