"""How uvicorn serves the application: limits on connections and slow clients, an end that loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import signal
import socket
import struct
import sys
import termios
import threading
from asyncio import TimerHandle, Transport
from collections.abc import Callable, Iterator
from typing import Any, cast

import anyio
import uvicorn
import uvloop
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from tailwright.progress import show
from tailwright.serving.app import application
from tailwright.serving.log import log_as_json, say
from tailwright.serving.problems import RequestError, new_id
from tailwright.serving.reloading import Reloader
from tailwright.serving.service import Note, Service
from tailwright.serving.settings import ServerSettings

_MOST_HEADER_BYTES = 64 << 10
_BACKLOG = 2048
# Between "not ready" and the end of accepting: time for balancers to notice, and for answers that tell
# clients to close their connections. Connections that were just opened have as long for their request.
DRAIN_SECONDS = 0.5
_LOOK_EVERY = 0.01  # seconds
# How long a thread may keep Python to itself. With the usual 5 ms, the thread that predicts waits so long for
# the event loop whenever it comes back from a kernel.
_SWITCH_SECONDS = 0.0005


class Connection(HttpToolsProtocol):
    """A connection with limits that uvicorn does not have, and with errors of our shape."""

    service: Service  # of the subclass that `server_of` makes
    _headers_due: TimerHandle | None = None
    _header_bytes = 0

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        most = self.service.settings.limits.connections
        if len(self.connections) > most:
            self._refuse(
                RequestError(
                    "too_many_connections",
                    f"found more than {most} connections, expected a later one",
                    {"Retry-After": "1"},
                )
            )
        else:
            self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._headers_came()
        super().connection_lost(exc)
        if self.cycle is not None:
            note = cast(Note | None, self.cycle.scope.get("tailwright"))
            if note is not None and note.pending is not None:
                note.pending.cancel()  # nobody waits for it any more

    def data_received(self, data: bytes) -> None:
        if self._headers_due is not None:
            self._header_bytes += len(data)
            if self._header_bytes > self.service.settings.limits.body + _MOST_HEADER_BYTES:
                self._refuse(RequestError("bad_request", "found headers without an end, expected fewer"))
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._headers_due is None:
            self._expect_headers()

    def on_headers_complete(self) -> None:
        self._headers_came()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(RequestError("bad_request", "found bytes that are no HTTP request, expected HTTP/1.1"))

    @property
    def is_new(self) -> bool:
        """Whether nothing has come yet."""
        return self.cycle is None and not self._header_bytes and not self._unread()

    def shutdown(self) -> None:
        """Close an idle connection; a request that has begun to come is answered first, which closes it."""
        begun = self._headers_due is not None and (self._header_bytes or self.cycle is not None)
        if not begun and not self._unread():
            super().shutdown()

    def _unread(self) -> int:
        """Bytes that came and that the event loop has not read."""
        if self.transport.is_closing():
            return 0
        sock = self.transport.get_extra_info("socket")
        count: int = struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.FIONREAD, bytes(4)))[0]
        return count

    def _expect_headers(self) -> None:
        self._header_bytes = 0
        self._headers_due = self.loop.call_later(self.service.settings.limits.header_seconds, self._too_slow)

    def _headers_came(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _too_slow(self) -> None:
        if not self._header_bytes:  # a connection that was opened to be used later
            self.transport.close()
            return
        seconds = self.service.settings.limits.header_seconds
        self._refuse(
            RequestError(
                "body_timeout", f"found no end of the headers after {seconds:g} seconds, expected it"
            )
        )

    def _refuse(self, problem: RequestError) -> None:
        """Answer without the application, and close."""
        self._headers_came()
        if self.transport.is_closing():
            return
        request_id = new_id()
        body = problem.body("", request_id)
        headers = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
            "x-request-id": request_id,
            "x-content-type-options": "nosniff",
            **problem.headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.transport.write(STATUS_LINE[problem.status] + lines.encode() + b"\r\n" + body)
        self.transport.close()
        self.service.metrics.requests.labels("connection", problem.status).inc()


class Server(uvicorn.Server):
    """Loads the runs while it already says that it lives; after a signal it answers all that it accepted."""

    def __init__(self, config: uvicorn.Config, service: Service, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self.service, self._announce = service, announce
        self._reloader: Reloader | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.failure: Exception | None = None  # to load the runs

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        with anyio.move_on_after(1):  # which imports the half of anyio that the first request would import
            await asyncio.sleep(0)
        self._reloader = Reloader(self.service)
        self._tasks = [asyncio.create_task(self._load(self._reloader))]

    async def _load(self, reloader: Reloader) -> None:
        try:
            if not self.service.hosts:
                await asyncio.to_thread(self.service.load)
            self._announce()
        except Exception as error:
            self.failure, self.should_exit = error, True
            return
        await reloader.run()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.service.stopping = True
        for task in self._tasks:
            task.cancel()
        if self.failure is None:
            await asyncio.sleep(DRAIN_SECONDS)
            await self._accept_the_last(sockets or [])
        await super().shutdown(sockets)
        self.service.close()

    async def _accept_the_last(self, sockets: list[socket.socket]) -> None:
        """Stop listening, and give connections time for their request that the kernel took for us."""
        last = [client for sock in sockets for client in waiting_connections(sock)]
        for server in self.servers:
            server.close()
        loop = asyncio.get_running_loop()
        for client in last:
            await loop.connect_accepted_socket(self._connection, client)
        until = loop.time() + DRAIN_SECONDS
        while loop.time() < until and any(
            connection.is_new for connection in cast(set[Connection], self.server_state.connections)
        ):
            await asyncio.sleep(_LOOK_EVERY)

    def _connection(self) -> Connection:
        made: Any = self.config.http_protocol_class
        connection: Connection = made(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return connection

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop by SIGTERM and SIGINT with exit code 0, where uvicorn would raise the signal once more."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        handlers = {
            signal.SIGTERM: self.stop,
            signal.SIGINT: self.stop,
            signal.SIGHUP: self.look_for_replaced_runs,
        }
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
        try:
            yield
        finally:
            for number in handlers:
                loop.remove_signal_handler(number)

    def stop(self) -> None:
        """As SIGTERM does: no longer ready, and at an end when all requests are answered."""
        self.force_exit = self.should_exit  # the second signal does not wait
        self.service.stopping = self.should_exit = True
        say("stopping", requests=len(self.server_state.tasks))

    def look_for_replaced_runs(self) -> None:
        """As SIGHUP does; from the event loop."""
        if self._reloader is not None:
            self._reloader.wake()


def waiting_connections(sock: socket.socket) -> Iterator[socket.socket]:
    """Connections that a listening socket has not handed out yet."""
    sock.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            client, _ = sock.accept()
            client.setblocking(False)
            yield client


def server_of(settings: ServerSettings, announce: Callable[[], None] = lambda: None) -> Server:
    """A server that is not started yet; `announce` is called when it is ready."""
    service = Service(settings)
    protocol: Any = type("ServiceConnection", (Connection,), {"service": service})
    config = uvicorn.Config(
        application(service),
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=settings.limits.idle_seconds,  # type: ignore[arg-type]
        timeout_graceful_shutdown=settings.limits.stop_seconds,  # type: ignore[arg-type]
    )
    return Server(config, service, announce)


def serve(server: Server, sock: socket.socket) -> None:
    """Serve in this process until a signal comes; a run that cannot be loaded raises its error."""
    log_as_json()
    show(False)
    sys.setswitchinterval(_SWITCH_SECONDS)
    uvloop.run(server.serve(sockets=[sock]))
    if server.failure is not None:
        raise server.failure
