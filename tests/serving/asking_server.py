"""How tests ask a server: in process, or one that listens on a free port of the loopback."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tailwright.serving.app import application
from tailwright.serving.connections import Server, server_of
from tailwright.serving.door import Door
from tailwright.serving.service import Service
from tailwright.serving.settings import ServerSettings, run_addresses
from tailwright.serving.sockets import bound

PATIENCE = 60.0  # seconds that a machine may take, however slow it is


def settings_of(*runs: Path | str, **settings: Any) -> ServerSettings:
    return ServerSettings(runs=run_addresses(map(str, runs)), **{"log_requests": False, **settings})


def loaded(*runs: Path | str, **settings: Any) -> Service:
    """A service whose runs are loaded."""
    service = Service(settings_of(*runs, **settings))
    service.load()
    return service


def asked(app: Door, method: str, path: str, **request: Any) -> httpx.Response:
    """The answer to one request."""

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://tailwright"
        ) as client:
            return await client.request(method, path, **request)

    return asyncio.run(ask())


class Client:
    """Asks an application in process."""

    def __init__(self, service: Service) -> None:
        self.service, self.app = service, application(service)

    def get(self, path: str, **request: Any) -> httpx.Response:
        return asked(self.app, "GET", path, **request)

    def post(self, path: str, body: Any = None, **request: Any) -> httpx.Response:
        return asked(self.app, "POST", path, **({} if body is None else {"json": body}), **request)


@contextmanager
def listening_server(settings: ServerSettings) -> Iterator[tuple[Server, int]]:
    """A server in a thread, with its port; when the block ends it stops as after SIGTERM."""
    sock = bound("127.0.0.1", 0)
    port, ready = sock.getsockname()[1], threading.Event()
    server = server_of(settings, ready.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[sock])))
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        yield server, port
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


def connected(port: int, sent: bytes = b"") -> socket.socket:
    """A connection to the loopback that has sent some bytes."""
    sock = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    sock.sendall(sent)
    return sock


def predict_bytes(body: Any, *headers: str) -> bytes:
    """A request for labels as it goes over the wire."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [
        "POST /v1/predict HTTP/1.1",
        "Host: tailwright",
        "Content-Type: application/json",
        *(headers or (f"Content-Length: {len(content)}",)),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + content


def answer_of(sock: socket.socket) -> tuple[int, dict[str, str], Any]:
    """Status, headers and JSON of the next answer; status 0 if the server closed the connection instead."""
    with sock.makefile("rb") as file:
        first = file.readline()
        if not first:
            return 0, {}, None
        headers = {}
        while (line := file.readline().strip()) and b":" in line:
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        body = file.read(int(headers.get("content-length", 0)))
        return int(first.split()[1]), headers, json.loads(body) if body else None


def until(condition: Any) -> None:
    """Wait for something that another thread does."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
