"""Items that wait for one thread, which takes as many at a time as it may.

An item that finds the thread idle is worked on at once. Those that come while it is busy wait, and are taken
together when it is free: batches grow with the load, and nothing ever waits for a batch to fill.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tailwright.serving.problems import RequestError

Item = TypeVar("Item")
Result = TypeVar("Result")

LONGEST_RETRY = 60  # seconds that a client is told to wait, at most
_LATEST = 0.2  # share of the last batch in the measured rate


@dataclass(eq=False)
class _Waiting(Generic[Item, Result]):
    item: Item
    size: int
    future: asyncio.Future[Result]


class WorkQueue(Generic[Item, Result]):
    """Puts items to `work` in a thread of its own; `put` and `close` are called from one event loop.

    `most_waiting` and `most_at_once` count sizes. `watch(waiting)` is told how much waits whenever that
    changes. A `work` that fails for several items is tried with each of them alone.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[list[Item]], Sequence[Result]],
        *,
        most_waiting: int,
        most_at_once: int,
        watch: Callable[[int], None] = lambda waiting: None,
    ) -> None:
        self._work, self._watch = work, watch
        self._most_waiting, self._most_at_once = most_waiting, most_at_once
        self._items: deque[_Waiting[Item, Result]] = deque()
        self._size = 0  # of all that waits
        self._rate = 0.0  # size a second, while there is work
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, item: Item, size: int) -> asyncio.Future[Result]:
        """What becomes of the item; an error if the queue is full. One that is cancelled leaves the queue."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        entry = _Waiting(item, size, future)
        with self._changed:
            if self._size and self._size + size > self._most_waiting:
                raise self.problem()
            self._items.append(entry)
            self._grow(size)
            self._changed.notify()
        future.add_done_callback(lambda done: self._drop(entry) if done.cancelled() else None)
        return future

    @property
    def is_full(self) -> bool:
        """Whether not even the smallest item has room."""
        return self._size >= self._most_waiting

    def problem(self) -> RequestError:
        """What an item without room is told."""
        return RequestError(
            "too_many_requests",
            f"found {self._size} texts waiting, expected at most {self._most_waiting}",
            {"Retry-After": str(self.seconds_to_wait())},
        )

    def seconds_to_wait(self) -> int:
        """How long all that waits will take at the rate measured so far, in whole seconds from 1."""
        if not self._rate:
            return 1
        return max(1, min(LONGEST_RETRY, math.ceil(self._size / self._rate)))

    def close(self) -> None:
        """End the thread when nothing waits any more; nothing may be put after this."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _grow(self, size: int) -> None:
        self._size += size
        self._watch(self._size)

    def _drop(self, entry: _Waiting[Item, Result]) -> None:
        with self._changed:
            if entry in self._items:  # else it is being worked on, or done
                self._items.remove(entry)
                self._grow(-entry.size)

    def _take(self) -> list[_Waiting[Item, Result]]:
        """All that may be worked on at a time, at least one item; none when the queue is closed."""
        with self._changed:
            while not self._items and not self._closed:
                self._changed.wait()
            taken: list[_Waiting[Item, Result]] = []
            size = 0
            while self._items and (not taken or size + self._items[0].size <= self._most_at_once):
                taken.append(self._items.popleft())
                size += taken[-1].size
            if taken:
                self._grow(-size)
            return taken

    def _run(self) -> None:
        while taken := self._take():
            start = time.perf_counter()
            results = self._results([entry.item for entry in taken])
            rate = sum(entry.size for entry in taken) / max(time.perf_counter() - start, 1e-6)
            self._rate += (_LATEST if self._rate else 1.0) * (rate - self._rate)
            _settle([entry.future for entry in taken], results)

    def _results(self, items: list[Item]) -> Sequence[Result | Exception]:
        try:
            return self._work(items)
        except Exception as error:
            if len(items) == 1:
                return [error]
        return [result for item in items for result in self._results([item])]


def _settle(futures: Sequence[asyncio.Future[Result]], results: Sequence[Result | Exception]) -> None:
    """Tell the event loop of all results at once."""

    def tell() -> None:
        for future, result in zip(futures, results, strict=True):
            if future.done():  # cancelled meanwhile
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    loop = futures[0].get_loop()
    if not loop.is_closed():
        loop.call_soon_threadsafe(tell)
