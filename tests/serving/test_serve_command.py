"""`tailwright serve`: what it refuses before it listens, and the whole server in processes of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from asking_server import PATIENCE, until

import tailwright as tw
from tailwright.cli import run
from tailwright.errors import EXTRA_OF
from tailwright.serving.hosted import version_of


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["{run}", "x/topics"], "two runs are called 'topics'"),
        (["a/b={run}"], "found the name 'a/b' of a run, expected NAME=RUN"),
        (["nowhere"], "nowhere: does not exist, expected a run folder"),
        (["{run}", "--keys", "{empty}"], "has no key, expected a key on each line"),
        (["{run}", "--keys", "{odd}"], "key 2 of {odd}, expected printable ASCII without spaces"),
        (["{run}", "--open-metrics"], "--open-metrics without keys, expected --keys FILE"),
        (["{run}", "--max-queue", "9"], "--max-queue 9, expected at least --max-texts, which is 256"),
        (["{run}", "--port", "{port}"], "port {port} of 127.0.0.1 is in use, expected another --port"),
        (["{run}", "--port", "{port}", "--workers", "2"], "port {port} of 127.0.0.1 is in use"),
        (["{run}", "--host", "256.0.0.1"], "cannot listen on 256.0.0.1:8000"),
    ],
)
def test_a_mistake_is_one_line_before_anything_is_served(run_folder, tmp_path, capsys, arguments, expected):
    (tmp_path / "empty").write_text("# no key\n\n")
    (tmp_path / "odd").write_text("good\nbad key\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        words = {
            "run": run_folder,
            "empty": tmp_path / "empty",
            "odd": tmp_path / "odd",
            "port": taken.getsockname()[1],
        }
        assert run(["serve", *(argument.format(**words) for argument in arguments)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert expected.format(**words) in line


def test_a_missing_extra_is_one_line_with_the_command_that_installs_it(run_folder, monkeypatch, capsys):
    assert {name for name, extra in EXTRA_OF.items() if extra == "serve"} >= {"starlette", "uvicorn"}
    monkeypatch.setattr("tailwright.errors.find_spec", lambda name: None if name == "uvicorn" else 1)
    assert run(["serve", str(run_folder)]) == 2
    assert "uvicorn, which the server needs, is not installed" in (line := capsys.readouterr().err)
    assert "pip install 'tailwright[serve]'" in line


class Started:
    """The command in a process of its own."""

    def __init__(self, log: Path, *arguments: str, **variables: str) -> None:
        self.log = log
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tailwright", "serve", "--port", "0", "--json", *arguments],
                stdout=subprocess.PIPE,
                stderr=file,
                env={**os.environ, **variables},
            )
        told = self.process.stdout.readline()
        assert told, log.read_text()
        self.address = json.loads(told)["address"]

    def events(self, name: str) -> list[dict]:
        return [
            one for line in self.log.read_text().splitlines() if (one := json.loads(line))["event"] == name
        ]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return code


@pytest.mark.slow
def test_one_process_ends_by_sigterm_with_exit_code_0(run_folder, tmp_path):
    server = Started(tmp_path / "log", str(run_folder), TAILWRIGHT_KEYS="one two")
    answer = httpx.post(f"{server.address}/v1/predict", json={"text": "a"}, headers={"X-API-Key": "two"})
    assert answer.status_code == 200
    assert server.stop() == 0
    assert len(server.events("request")) == 1


@pytest.mark.slow
def test_workers_share_port_memory_and_metrics_and_one_that_dies_is_started_again(tmp_path):
    folder = tmp_path / "run"
    large_run(folder)
    server = Started(tmp_path / "log", str(folder), "--workers", "2", "--reload-every", "0")
    try:
        children = child_pids(server.process.pid)
        assert len(children) == 2
        ask(server.address, 40)
        until(lambda: counted(server.address) == 40)  # both workers' requests, whichever is asked
        shared = [mapped_kilobytes(pid, folder) for pid in children]
        assert all(rss > 0 and private == 0 for rss, private in shared), shared
        os.kill(children[0], signal.SIGKILL)
        until(lambda: len(set(child_pids(server.process.pid)) - {children[0]}) == 2)
        assert server.events("worker died")[0]["pid"] == children[0]
        ask(server.address, 5)
        assert counted(server.address) == 45
        large_run(folder, rows=80)
        server.process.send_signal(signal.SIGHUP)
        new = version_of(folder)
        until(lambda: {served_version(server.address) for _ in range(10)} == {new})
        assert server.stop() == 0
    finally:
        server.process.kill()
        server.process.wait()
        server.process.stdout.close()


def large_run(folder: Path, rows: int = 90) -> None:
    """A run whose arrays are large enough to be mapped: every text has words of its own."""
    texts = [" ".join(f"w{row}x{word}" for word in range(300)) for row in range(rows)]
    labels = [[f"label {row % 9}"] for row in range(rows)]
    tw.train(texts, labels, model="linear", settings={"trees": 1}, measure=False).save(folder, overwrite=True)


def served_version(address: str) -> str:
    return httpx.get(f"{address}/v1/models", timeout=PATIENCE).json()["models"][0]["version"]


def child_pids(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def ask(address: str, count: int) -> None:
    for _ in range(count):
        assert httpx.post(f"{address}/v1/predict", json={"text": "w3x4"}, timeout=PATIENCE).status_code == 200


def counted(address: str) -> int:
    lines = httpx.get(f"{address}/metrics", timeout=PATIENCE).text.splitlines()
    name = 'tailwright_requests_total{route="/v1/predict",status="200"} '
    return sum(int(float(line.removeprefix(name))) for line in lines if line.startswith(name))


def mapped_kilobytes(pid: int, folder: Path) -> tuple[int, int]:
    """(resident, private) memory of the mappings of a folder's files in a process."""
    resident = private = 0
    inside = False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if "-" in line.split()[0]:
            inside = str(folder) in line
        elif inside and line.startswith("Rss:"):
            resident += int(line.split()[1])
        elif inside and line.startswith("Private_Dirty:"):
            private += int(line.split()[1])
    return resident, private
