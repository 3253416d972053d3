"""Clients for `bench_serving.py`, in a process of their own: JSON in the first argument, JSON on stdout.

Open loop (`rate`): requests start at fixed times, whatever became of those before, and a latency is counted
from the intended start. Closed loop (`clients`): each client asks again as soon as it has its answer.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter, deque
from pathlib import Path
from typing import Any

import httptools
import numpy as np
import uvloop

PATIENCE = 30.0  # seconds for the last answers


class Line(asyncio.Protocol):
    """A connection with at most one request on it."""

    def __init__(self) -> None:
        self.waiting: asyncio.Future[int] | None = None
        self.open = False

    def connection_made(self, transport: Any) -> None:
        self.transport, self.open = transport, True

    def ask(self, request: bytes) -> asyncio.Future[int]:
        """The status of the answer; 0 if the connection ends without one."""
        self.waiting = asyncio.get_running_loop().create_future()
        self.parser = httptools.HttpResponseParser(self)
        self.transport.write(request)
        return self.waiting

    def data_received(self, data: bytes) -> None:
        if self.waiting is not None:
            self.parser.feed_data(data)

    def on_message_complete(self) -> None:
        if not self.parser.should_keep_alive():
            self.open = False
            self.transport.close()
        self._tell(self.parser.get_status_code())

    def connection_lost(self, error: Exception | None) -> None:
        self.open = False
        self._tell(0)

    def _tell(self, status: int) -> None:
        waiting, self.waiting = self.waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_result(status)


class Lines:
    """Connections that are idle; more are opened up to a limit, and who finds none waits."""

    def __init__(self, port: int, most: int) -> None:
        self.port, self.idle, self.free = port, deque[Line](), asyncio.Semaphore(most)

    async def ask(self, request: bytes) -> int | str:
        async with self.free:
            while self.idle:
                line = self.idle.pop()
                if line.open:
                    break
            else:
                try:
                    loop = asyncio.get_running_loop()
                    _, line = await loop.create_connection(Line, "127.0.0.1", self.port)
                except OSError:
                    return "refused"
            status = await line.ask(request)
            if line.open:
                self.idle.append(line)
            return status or "lost"


def requests_of(asked: dict[str, Any]) -> list[bytes]:
    """The requests, each with `batch` texts of a file of lines."""
    texts, batch = Path(asked["texts"]).read_text("utf-8").splitlines(), asked["batch"]
    made = []
    for start in range(0, max(len(texts) - batch + 1, 1), batch):
        body = json.dumps({"texts": texts[start : start + batch]} if batch > 1 else {"text": texts[start]})
        head = "POST /v1/predict HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        made.append(f"{head}Content-Length: {len(body.encode())}\r\n\r\n{body}".encode())
    return made


async def open_loop(asked: dict[str, Any]) -> dict[str, Any]:
    lines, requests = Lines(asked["port"], asked["connections"]), requests_of(asked)
    loop = asyncio.get_running_loop()
    start, taken, outcomes = loop.time(), [], Counter[str]()

    async def one(number: int, due: float) -> None:
        status = await lines.ask(requests[number % len(requests)])
        outcomes[str(status)] += 1
        if status == 200:
            taken.append(loop.time() - due)

    tasks: set[asyncio.Task[None]] = set()
    count = int(asked["rate"] * asked["seconds"])
    for number in range(count):
        due = start + number / asked["rate"]
        if (wait := due - loop.time()) > 0:
            await asyncio.sleep(wait)
        elif number % 64 == 0:
            await asyncio.sleep(0)
        task = asyncio.create_task(one(number, due))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    offered = count / max(loop.time() - start, 1e-9)
    if tasks:
        await asyncio.wait(tasks, timeout=PATIENCE)
    outcomes["unanswered"] += len(tasks)
    return {"offered": round(offered, 1), **said(taken, outcomes, loop.time() - start)}


async def closed_loop(asked: dict[str, Any]) -> dict[str, Any]:
    lines, requests = Lines(asked["port"], asked["clients"]), requests_of(asked)
    start, taken, outcomes = time.perf_counter(), [], Counter[str]()

    async def client(number: int) -> None:
        while (begun := time.perf_counter()) - start < asked["seconds"]:
            status = await lines.ask(requests[number % len(requests)])
            outcomes[str(status)] += 1
            taken.append(time.perf_counter() - begun)
            number += asked["clients"]

    await asyncio.gather(*(client(number) for number in range(asked["clients"])))
    return said(taken, outcomes, time.perf_counter() - start)


def said(taken: list[float], outcomes: Counter[str], seconds: float) -> dict[str, Any]:
    p50, p99 = (1000 * np.percentile(taken, [50, 99])).round(2).tolist() if taken else (None, None)
    rate = round(outcomes["200"] / seconds, 1)
    return {"answered_a_second": rate, "p50_ms": p50, "p99_ms": p99, "outcomes": dict(+outcomes)}


if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    print("started", flush=True)
    print(json.dumps(uvloop.run((open_loop if "rate" in arguments else closed_loop)(arguments))))
