"""Items wait for a thread that takes all it may at a time."""

from __future__ import annotations

import asyncio
import threading

import pytest
from asking_server import PATIENCE, until

from tailwright.serving.problems import RequestError
from tailwright.serving.queue import WorkQueue


class Gate:
    """Work that waits until it may go on, and remembers what it was given."""

    def __init__(self) -> None:
        self.opened, self.taken = threading.Event(), []

    def __call__(self, items: list[int]) -> list[int]:
        self.taken.append(list(items))
        assert self.opened.wait(PATIENCE)
        return [10 * item for item in items]


def test_an_item_that_finds_the_thread_idle_is_taken_at_once_and_those_that_wait_together():
    gate = Gate()

    async def story() -> list[int]:
        queue: WorkQueue[int, int] = WorkQueue("test", gate, most_waiting=10, most_at_once=3)
        futures = [queue.put(1, 1)]
        await asyncio.to_thread(until, lambda: gate.taken)
        futures += [queue.put(item, 1) for item in (2, 3, 4, 5)]
        gate.opened.set()
        queue.close()
        return await asyncio.gather(*futures)

    assert asyncio.run(story()) == [10, 20, 30, 40, 50]
    assert gate.taken == [[1], [2, 3, 4], [5]]


def test_a_full_queue_turns_items_away_with_the_seconds_to_wait():
    gate, waiting = Gate(), []

    async def story() -> None:
        queue: WorkQueue[int, int] = WorkQueue(
            "test", gate, most_waiting=4, most_at_once=9, watch=waiting.append
        )
        first = queue.put(1, 1)
        await asyncio.to_thread(until, lambda: gate.taken)
        second = queue.put(2, 3)
        with pytest.raises(RequestError) as refused:
            queue.put(3, 2)
        assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "1"})
        third = queue.put(3, 1)  # a smaller one still fits
        gate.opened.set()
        queue.close()
        await asyncio.gather(first, second, third)

    asyncio.run(story())
    assert waiting == [1, 0, 3, 4, 0]


def test_the_time_to_wait_follows_from_what_waits_and_the_rate():
    queue: WorkQueue[int, int] = WorkQueue("test", list, most_waiting=1, most_at_once=1)
    queue.close()
    told = []
    for size, rate in ((100, 8.0), (100, 1000.0), (10**6, 1.0)):
        queue._size, queue._rate = size, rate
        told.append(queue.seconds_to_wait())
    assert told == [13, 1, 60]


def test_a_cancelled_item_leaves_the_queue():
    gate = Gate()

    async def story() -> None:
        queue: WorkQueue[int, int] = WorkQueue("test", gate, most_waiting=2, most_at_once=9)
        first = queue.put(1, 1)
        await asyncio.to_thread(until, lambda: gate.taken)
        queue.put(2, 2).cancel()
        await asyncio.sleep(0)
        kept = queue.put(3, 2)  # there is room for it again
        gate.opened.set()
        queue.close()
        assert await asyncio.gather(first, kept) == [10, 30]

    asyncio.run(story())
    assert gate.taken == [[1], [3]]


def test_an_item_that_fails_does_not_fail_those_that_were_taken_with_it():
    started, go = threading.Event(), threading.Event()

    def work(items: list[int]) -> list[float]:
        started.set()
        assert go.wait(PATIENCE)
        return [1 / item for item in items]

    async def story() -> list[object]:
        queue: WorkQueue[int, float] = WorkQueue("test", work, most_waiting=9, most_at_once=9)
        first = queue.put(1, 1)
        await asyncio.to_thread(started.wait)
        others = [queue.put(item, 1) for item in (2, 0, 4)]
        go.set()
        queue.close()
        return await asyncio.gather(first, *others, return_exceptions=True)

    *said, last = asyncio.run(story())
    assert (said[0], said[1], last) == (1.0, 0.5, 0.25)
    assert isinstance(said[2], ZeroDivisionError)
