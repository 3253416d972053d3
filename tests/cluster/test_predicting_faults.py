"""Killed drivers and nodes, other numbers of workers, and a cluster that this process is a client of."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest
from loopback_nodes import SETTINGS
from scripts import start_anew
from test_predict_shards import table_in

from tailwright.cli import run as command
from tailwright.cluster.row_digest import digest_of, summed

TESTS = Path(__file__).resolve().parent
pytestmark = pytest.mark.slow


def predicted(folder: Path, out: Path, *options: str, runs: tuple[str, ...] = ("run",)) -> list[str]:
    """The arguments of a prediction of all rows."""
    rows = folder / "rows.jsonl"
    return [
        "predict",
        *(str(folder / run) for run in runs),
        "--input",
        str(rows),
        "--out",
        str(out),
        *options,
    ]


def digest_of_one_process(folder: Path, place: Path, *options: str) -> str:
    out = place / "one.parquet"
    assert command(predicted(folder, out, *options, "--quiet")) == 0
    return summed([digest_of(pyarrow.parquet.read_table(out))])


@pytest.mark.parametrize("workers", ["1", "2"])
def test_any_number_of_workers_gives_the_same_rows_for_every_option(
    cluster, two_runs, tmp_path, capsys, workers
):
    on = ["--on", "ray", "--workers", workers, "--shard-rows", "50", "--quiet"]
    for number, (runs, options) in enumerate(
        [
            (("run",), ["--k", "2", "--threshold", "0.2"]),
            (("run", "other"), ["--tail", "0.5", "--only", "1,2,3"]),
        ]
    ):
        one, out = tmp_path / f"{number}.parquet", tmp_path / f"{number}"
        assert command(predicted(two_runs, one, *options, "--quiet", runs=runs)) == 0
        assert command(predicted(two_runs, out, *options, *on, runs=runs)) == 0
        assert table_in(out).equals(pyarrow.parquet.read_table(one))
    assert command(predicted(two_runs, tmp_path / "one.jsonl", "--quiet")) == 0
    assert command(predicted(two_runs, tmp_path / "lines", *on, "--format", "jsonl")) == 0
    shards = sorted((tmp_path / "lines").glob("part-*.jsonl"))
    assert b"".join(shard.read_bytes() for shard in shards) == (tmp_path / "one.jsonl").read_bytes()


def test_a_killed_driver_goes_on_with_the_shards_that_are_not_done(two_runs, tmp_path):
    out = tmp_path / "out"
    asked = predicted(two_runs, out, "--on", "ray", "--workers", "2", "--shard-rows", "1", "--json")
    script = TESTS.parent / "command.py"
    killed = start_anew(script, *asked)
    done = tmp_path / "out.partial" / "done"
    while killed.poll() is None and not (done.is_dir() and any(done.iterdir())):
        time.sleep(0.01)
    assert killed.poll() is None, "it was done before it could be killed"
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert not out.exists()
    again = start_anew(script, *asked)
    printed, _ = again.communicate()
    assert (again.returncode, printed) == (2, "")  # it asks for --resume
    resumed = start_anew(script, *asked, "--resume")
    printed, _ = resumed.communicate()
    assert resumed.returncode == 0
    result = json.loads(printed)
    assert 0 < result["shards_done_before"] < result["shards"]
    assert result["digest"] == digest_of_one_process(two_runs, tmp_path)
    assert len(table_in(out)) == 121
    assert not (tmp_path / "out.partial").exists()


def test_a_killed_node_costs_what_it_had_under_way(two_runs, tmp_path):
    out = tmp_path / "out"
    script = start_anew(TESTS / "lost_node.py", two_runs / "run", two_runs / "rows.jsonl", out)
    printed, _ = script.communicate()
    assert script.returncode == 0
    # Ray prints what it knows of the lost node, before our line or after it.
    result = json.loads(next(line for line in printed.splitlines() if line.startswith('{"digest"')))
    assert result["done_when_killed"] < result["shards"]
    assert result["digest"] == digest_of_one_process(two_runs, tmp_path, "--k", "3")
    assert len(table_in(out)) == 121


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A cluster of its own, started as its owner would, to which clients connect that know its token."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    folder = tempfile.mkdtemp(prefix="tw-", dir="/tmp")  # short, as paths of sockets must be
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--head", "--block", "--port", "0", "--ray-client-server-port", str(port), "--num-cpus", "2"]
    options += ["--include-dashboard", "false", "--node-ip-address", "127.0.0.1", "--temp-dir", folder]
    environment = {**os.environ, **SETTINGS, "PYTHONPATH": str(TESTS.parent.parent)}
    head = subprocess.Popen(
        [Path(sys.executable).with_name("ray"), "start", *options],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and head.poll() is None:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        time.sleep(3)  # the port is open before clients are served
        yield f"ray://127.0.0.1:{port}"
    finally:
        head.send_signal(signal.SIGTERM)
        head.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def test_a_client_of_a_cluster_gets_the_same_rows_and_numbers(address, two_runs, tmp_path):
    script = TESTS.parent / "command.py"
    on = ["--on", address, "--workers", "2"]
    out = tmp_path / "out"
    client = start_anew(script, *predicted(two_runs, out, *on, "--shard-rows", "30", "--json", "--debug"))
    printed, _ = client.communicate()
    assert client.returncode == 0
    assert json.loads(printed)["digest"] == digest_of_one_process(two_runs, tmp_path)
    assert len(table_in(out)) == 121
