"""What all routes share: the runs by name, the queues, and whether requests may come in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from tailwright.errors import quoted
from tailwright.serving.batch import Answer, Ask, Options
from tailwright.serving.hosted import Hosted, hosted
from tailwright.serving.metrics import Metrics
from tailwright.serving.problems import RequestError
from tailwright.serving.queue import WorkQueue
from tailwright.serving.settings import ServerSettings


@dataclass
class Note:
    """What is known of a request that goes on: for its answer, its log line, and if its client goes away."""

    request_id: str
    texts: Sequence[str] = ()
    batch: int | None = None  # texts that were answered together
    pending: asyncio.Future[Any] | None = None  # what it waits for

    @staticmethod
    def of(request: Request) -> Note:
        note: Note = request.scope["tailwright"]
        return note


class Service:
    """The runs that are served and their queues; routes call it from the event loop."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.hosts: dict[str, Hosted] = {}  # in the order of the settings
        self.stopping = False
        # Slow work has a thread of its own, so that it never holds predictions up.
        self._slow: WorkQueue[Callable[[], Any], Any] = WorkQueue(
            "explain",
            lambda items: [item() for item in items],
            most_waiting=settings.limits.explanations,
            most_at_once=1,
            watch=self.metrics.waiting.labels("", "explanations").set,
        )

    def load(self) -> None:
        """Load all runs; the first that is damaged is an InputError."""
        loaded = [hosted(address, self.settings.limits, self.metrics) for address in self.settings.runs]
        self.hosts = {host.name: host for host in loaded}

    @property
    def ready(self) -> bool:
        """Whether all runs are loaded, and the server is not about to stop."""
        return bool(self.hosts) and not self.stopping

    def host(self, name: str | None = None) -> Hosted:
        """The run of that name, by default the first."""
        if not self.hosts:
            raise RequestError(
                "not_ready", "found runs that are still being loaded, expected a later request"
            )
        if name is None:
            return next(iter(self.hosts.values()))
        if name not in self.hosts:
            known = ", ".join(map(quoted, self.hosts))
            raise RequestError("not_found", f"found no model {quoted(name)}, expected one of {known}")
        return self.hosts[name]

    def swap(self, host: Hosted) -> None:
        """Let a run take the place of the one of its name, which answers what it was asked already."""
        before = self.hosts[host.name]
        self.hosts[host.name] = host
        before.queue.close()

    async def predict(self, note: Note, host: Hosted, texts: Sequence[str], options: Options) -> Answer:
        """The labels of texts; `RequestError` if too many wait already."""
        answer = await self._put(note, host, host.queue, Ask(texts, options), len(texts))
        note.batch = answer.batch
        return answer

    def expect_room(self, name: str | None = None) -> None:
        """`RequestError` if a run's queue is full, by default those of all; called before a body is read.

        So under a storm of requests the time goes into answers, not into bodies that get none.
        """
        hosts = list(self.hosts.values()) if name is None else [self.host(name)]
        if hosts and all(host.queue.is_full for host in hosts):
            self.metrics.rejected.labels(hosts[0].name).inc()
            raise hosts[0].queue.problem()

    async def slowly(self, note: Note, host: Hosted, work: Callable[[], Any], size: int) -> Any:
        """What `work` gives, in the thread for slow work."""
        return await self._put(note, host, self._slow, work, size)

    async def _put(self, note: Note, host: Hosted, queue: WorkQueue[Any, Any], item: Any, size: int) -> Any:
        try:
            note.pending = queue.put(item, size)
        except RequestError:
            self.metrics.rejected.labels(host.name).inc()
            raise
        return await note.pending

    def close(self) -> None:
        """End all threads when their work is done."""
        self._slow.close()
        for host in self.hosts.values():
            host.queue.close()
