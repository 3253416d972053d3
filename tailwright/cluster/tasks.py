"""`RayTasks`: an executor whose pieces are tasks of a Ray cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tailwright.cluster.connection import Cluster
from tailwright.cluster.room import say_if_none_fits
from tailwright.errors import TailwrightError

S = TypeVar("S")
P = TypeVar("P")
R = TypeVar("R")

MB = 1024 * 1024
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
            task
        )
        sent = ray.put(shared)
        say_if_none_fits(self.cluster.threads, memory_mb)
        waiting = deque(enumerate(pieces))
        running: dict[Any, int] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self.workers * (1 + WAITING_A_WORKER):
                    number, piece = waiting.popleft()
                    running[remote.remote(sent, piece)] = number
                done, _ = ray.wait(list(running), num_returns=1)
                yield running.pop(done[0]), result_of(done[0])
        finally:
            for reference in running:
                ray.cancel(reference, force=True)


def result_of(reference: Any) -> Any:
    """The result of a task; its own error if it raised one, a line on the cluster if a worker was lost."""
    import ray
    from ray import exceptions

    try:
        return ray.get(reference)
    except exceptions.RayTaskError as error:
        raise error.cause if isinstance(error.cause, Exception) else error from None
    except exceptions.OutOfMemoryError as error:
        raise TailwrightError("a worker of the cluster ran out of memory; fewer workers need less") from error
    except exceptions.RayError as error:
        raise TailwrightError(f"a worker of the cluster was lost {RETRIES + 1} times") from error
