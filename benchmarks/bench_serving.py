"""`tailwright serve` under load on the loopback: rates, latencies, overload, and what is lost when it stops.

usage: bench_serving.py [RUN] [--overload-minutes 10] [--quick]

Without RUN, the default of winapi-seealso is trained first and kept. Requests come from a process of their
own (`serving_load.py`), an open loop whose latencies count from the intended start. Measured: requests a
second at a 99th percentile under 50 ms, for single texts and batches of 32, with one worker and two; the
ratio to a plain handler (`serving_plain.py`: fastapi 0.116 if it is installed) at 64 clients; ten times the
capacity for minutes: statuses, latency of those answered, memory; SIGTERM and a replaced run folder under
load: what is lost. `--quick` takes seconds and says whether all this runs, no more. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import common
import psutil

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus

HERE = Path(__file__).resolve().parent
P99_MS, CLIENTS, CONNECTIONS, BATCH = 50.0, 64, 256, 32


class Bench:
    """A run, texts to ask about, and how long a measurement lasts."""

    def __init__(self, run: Path, texts: Path, seconds: float, steps: int) -> None:
        self.run, self.texts, self.seconds, self.steps = run, texts, seconds, steps

    @contextmanager
    def server(self, *options: str, run: Path | None = None) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
        """A server and its port; the log of single requests is off, as it would be of the disk's speed."""
        words = ["serve", str(run or self.run), "--port", "0", "--json", "--quiet", *options]
        process = subprocess.Popen([sys.executable, "-m", "tailwright", *words], stdout=subprocess.PIPE)
        assert process.stdout is not None
        try:
            port = int(json.loads(process.stdout.readline())["address"].rpartition(":")[2])
            yield process, port
        finally:
            process.terminate()
            process.wait()

    def load(self, port: int, **asked: Any) -> dict[str, Any]:
        """What a load of some seconds gave."""
        return _said(self.start_load(port, **asked))

    def start_load(self, port: int, batch: int = 1, **asked: Any) -> subprocess.Popen[bytes]:
        """A load that has begun."""
        words = {"port": port, "texts": str(self.texts), "batch": batch, "seconds": self.seconds}
        words |= {"connections": CONNECTIONS} | asked
        command = [sys.executable, str(HERE / "serving_load.py"), json.dumps(words)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    def capacity(self, port: int, batch: int) -> dict[str, Any]:
        """The highest rate whose 99th percentile is below the limit, by halving the step towards it."""
        most = self.load(port, batch=batch, clients=CLIENTS)["answered_a_second"]
        low, high = 0.0, 1.2 * most
        best: dict[str, Any] = {"answered_a_second": 0.0}
        for _ in range(self.steps):
            rate = (low + high) / 2
            said = self.load(port, batch=batch, rate=rate)
            good = set(said["outcomes"]) == {"200"} and said["p99_ms"] < P99_MS
            low, high = (rate, high) if good else (low, rate)
            best = said if good else best
        return {"of_64_clients": most, **best}


def _said(load: subprocess.Popen[bytes]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(load.communicate()[0])
    return found


def against_plain(bench: Bench) -> dict[str, Any]:
    """Requests a second of 64 clients, by us and by a handler that calls `predict`."""
    with bench.server() as (_, port):
        ours = bench.load(port, clients=CLIENTS)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    plain = subprocess.Popen([sys.executable, str(HERE / "serving_plain.py"), str(bench.run), str(port)])
    try:
        while socket.socket().connect_ex(("127.0.0.1", port)):
            time.sleep(0.1)
        theirs = bench.load(port, clients=CLIENTS)
    finally:
        plain.terminate()
        plain.wait()
    ratio = ours["answered_a_second"] / max(theirs["answered_a_second"], 1e-9)
    return {"clients": CLIENTS, "ours": ours, "plain": theirs, "ratio": round(ratio, 2)}


def overload(bench: Bench, capacity: float, minutes: float) -> dict[str, Any]:
    """Ten times the capacity in batches; resident memory of the server over time."""
    memory: list[float] = []
    with bench.server() as (process, port):
        load = bench.start_load(port, batch=BATCH, rate=10 * capacity, seconds=60 * minutes)
        while load.poll() is None:
            memory.append(psutil.Process(process.pid).memory_info().rss / 2**20)
            time.sleep(max(6 * minutes, 0.2))
        said = _said(load)
    return {"minutes": minutes, **said, "rss_mb": [round(value) for value in memory]}


def stopped(bench: Bench, rate: float) -> dict[str, Any]:
    """SIGTERM in the middle of a load. Refused connections are none that the server accepted."""
    with bench.server() as (process, port):
        load = bench.start_load(port, rate=rate)
        time.sleep(bench.seconds / 2)
        process.send_signal(signal.SIGTERM)
        code = process.wait()
        said = _said(load)
    return {"exit_code": code, "lost": said["outcomes"].get("lost", 0), **said}


def replaced(bench: Bench, rate: float, folder: Path) -> dict[str, Any]:
    """A run folder that is replaced in the middle of a load."""
    run = tw.load(bench.run)
    run.save(folder)
    with bench.server("--reload-every", "0.5", run=folder) as (_, port):
        later = threading.Timer(
            bench.seconds / 2, lambda: replace(run, seed=run.seed + 1).save(folder, overwrite=True)
        )
        later.start()
        said = bench.load(port, rate=rate, seconds=max(bench.seconds, 4.0))
        later.join()
        metrics = subprocess.run(
            ["curl", "-s", f"http://127.0.0.1:{port}/metrics"], capture_output=True, text=True, check=True
        ).stdout
    lost = sum(count for outcome, count in said["outcomes"].items() if outcome != "200")
    return {"lost": lost, "reloaded": 'outcome="loaded"} 1.0' in metrics, **said}


def prepared(asked: argparse.Namespace, folder: Path) -> tuple[Path, Path]:
    """The run folder, and a file with a text on each line."""
    if asked.quick and asked.run is None:
        corpus, run = tiny_corpus(), folder / "run"
        tw.train(corpus, "linear", settings={"trees": 1}, measure=False).save(run)
        texts = corpus.train.texts.to_pylist()
    else:
        corpus = tw.read(common.data_folder() / "winapi-seealso")
        run = asked.run or common.WORK / "serving" / "winapi-seealso"
        if not run.exists():
            tw.train(corpus, out=run)
        texts = corpus.splits()["test"].texts.to_pylist()
    lines = folder / "texts.txt"
    lines.write_text("\n".join(" ".join(text.split()) or "-" for text in texts), "utf-8")
    return run, lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("run", nargs="?", type=Path)
    parser.add_argument("--overload-minutes", type=float)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    minutes = asked.overload_minutes or (0.05 if asked.quick else 10.0)
    with tempfile.TemporaryDirectory() as name:
        run, texts = prepared(asked, Path(name))
        bench = Bench(run, texts, *((1.5, 2) if asked.quick else (10.0, 7)))
        capacity: dict[str, Any] = {}
        for workers in (1, 2):
            with bench.server("--workers", str(workers)) as (_, port):
                for batch in (1, BATCH):
                    capacity[f"{workers} workers, {batch} texts"] = bench.capacity(port, batch)
        single, batches = (capacity[f"1 workers, {n} texts"]["of_64_clients"] for n in (1, BATCH))
        result = {
            "run": str(asked.run or "winapi-seealso" if not asked.quick else "tiny"),
            "p99_below_ms": P99_MS,
            "capacity": capacity,
            "plain": against_plain(bench),
            "overload": overload(bench, batches, minutes),
            "stopped": stopped(bench, single / 2),
            "replaced": replaced(bench, single / 2, Path(name) / "replaced"),
        }
    common.emit("serving", result)


if __name__ == "__main__":
    main()
