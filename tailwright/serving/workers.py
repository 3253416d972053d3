"""Several server processes on one port: started, started again when they die, and stopped together."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType

from prometheus_client.multiprocess import mark_process_dead

from tailwright.errors import InputError, TailwrightError
from tailwright.serving.log import say
from tailwright.serving.settings import ServerSettings
from tailwright.serving.sockets import beside
from tailwright.training.threads import THREAD_VARIABLES

_LOOK_EVERY = 0.2  # seconds
_SOON = 5.0  # a worker that dies sooner after its start waits so long for the next one


def serve_with_workers(
    settings: ServerSettings, sock: socket.socket, count: int, announce: Callable[[], None]
) -> None:
    """Serve with `count` processes beside a shared socket; `announce` is called when all are ready."""
    with tempfile.TemporaryDirectory(prefix="tailwright-metrics-") as folder:
        crew = _Crew(settings, sock, count, folder)
        with _signals_to(crew):
            try:
                crew.start(announce)
                crew.watch()
            finally:
                crew.end()


@dataclass
class _Worker:
    """A process; `due` is when one that died is started again."""

    process: subprocess.Popen[bytes]
    started: float = field(default_factory=time.monotonic)
    due: float | None = None


class _Crew:
    """The worker processes."""

    def __init__(self, settings: ServerSettings, sock: socket.socket, count: int, metrics: str) -> None:
        self._settings, self._socket, self._count, self._metrics = settings, sock, count, metrics
        self._workers: list[_Worker] = []
        self._stopping = False

    def start(self, announce: Callable[[], None]) -> None:
        """Start all; the first error of one of them is raised."""
        self._workers = [_Worker(self._process()) for _ in range(self._count)]
        for worker in self._workers:
            assert worker.process.stdout is not None
            told = worker.process.stdout.readline()
            if self._stopping:
                return
            if not told:
                raise TailwrightError("a worker process ended before it was ready; its log is above")
            if said := json.loads(told):
                raise (InputError if said["code"] == InputError.exit_code else TailwrightError)(said["error"])
        announce()

    def watch(self) -> None:
        """Start workers again that die, until a signal to stop."""
        while not self._stopping:
            time.sleep(_LOOK_EVERY)
            for place, worker in enumerate(self._workers):
                if worker.process.poll() is None or self._stopping:
                    continue
                now = time.monotonic()
                if worker.due is None:
                    say("worker died", pid=worker.process.pid, code=worker.process.returncode)
                    self._close(worker.process)
                    worker.due = now if now - worker.started >= _SOON else now + _SOON
                if now >= worker.due:
                    self._workers[place] = _Worker(self._process())

    def tell(self, number: int) -> None:
        """Send a signal to all workers."""
        for worker in self._workers:
            if worker.process.poll() is None:
                worker.process.send_signal(number)

    def stop(self) -> None:
        """Tell all workers to answer what they accepted and to end; told twice, they do not wait."""
        self._stopping = True
        self.tell(signal.SIGTERM)

    def end(self) -> None:
        """Stop all, and wait for them."""
        if not self._stopping:
            self.stop()
        for worker in self._workers:
            worker.process.wait()
            self._close(worker.process)

    def _process(self) -> subprocess.Popen[bytes]:
        # Only the worker keeps its socket: if it dies, connections go to the others.
        with beside(self._socket) as sock:
            process = subprocess.Popen(
                [sys.executable, "-m", "tailwright.serving.worker", str(sock.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[sock.fileno()],
                env={**os.environ, **self._variables()},
                start_new_session=True,  # Ctrl-C is for the parent, which tells the others
            )
        assert process.stdin is not None
        # By stdin, as everybody can read the arguments of a process, and keys are among the settings.
        with contextlib.suppress(BrokenPipeError):  # one that dies so soon is noticed elsewhere
            process.stdin.write(self._settings.model_dump_json().encode() + b"\n")
            process.stdin.flush()
        return process

    def _variables(self) -> Mapping[str, str]:
        """Where metrics are added up, and a fair share of the cores unless the user said otherwise."""
        threads = str(max(1, (os.cpu_count() or 1) // self._count))
        shares = {name: threads for name in THREAD_VARIABLES if name not in os.environ}
        return {"PROMETHEUS_MULTIPROC_DIR": self._metrics, **shares}

    def _close(self, process: subprocess.Popen[bytes]) -> None:
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        mark_process_dead(process.pid, self._metrics)  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def _signals_to(crew: _Crew) -> Iterator[None]:
    """Within it, signals to this process go to the workers."""
    handlers: dict[int, Callable[[int, FrameType | None], None]] = {
        signal.SIGTERM: lambda number, frame: crew.stop(),
        signal.SIGINT: lambda number, frame: crew.stop(),
        signal.SIGHUP: lambda number, frame: crew.tell(signal.SIGHUP),
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
