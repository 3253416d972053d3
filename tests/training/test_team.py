"""Two processes that share batches learn what one learns with the same batches, and one of them writes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scripts import start_anew, start_script

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.data import Corpus
from tailwright.errors import InputError
from tailwright.training.team import ALONE, Team, current_team, started_team

sys.path.insert(0, str(Path(__file__).parent))
import tiny_team

ONE_THREAD = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


def free_port() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def of_two(folder: Path, **settings) -> list[tuple[list[float], dict[str, np.ndarray]]]:
    """What each of two processes has learnt, the leader's first."""
    team = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), **ONE_THREAD}
    started = [
        start(tiny_team.__file__, folder, json.dumps(settings), **team, RANK=rank, LOCAL_RANK=rank)
        for rank, start in (("0", start_script), ("1", start_anew))
    ]
    said = [process.communicate(timeout=600)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    found = [json.loads(text.splitlines()[-1]) for text in said]
    return [(losses, {n: np.array(w, np.float32) for n, w in weights.items()}) for losses, weights in found]


def test_two_processes_have_the_loss_curve_of_one_with_the_same_batch(tmp_path):
    losses, weights = tiny_team.learnt(tmp_path / "one")
    (led, leader), (_, follower) = of_two(tmp_path / "two")
    assert len(losses) == 4
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(led, losses, atol=1e-5)
    for name, weight in weights.items():
        np.testing.assert_allclose(leader[name], weight, atol=1e-5)
        np.testing.assert_array_equal(leader[name], follower[name])
    events = [json.loads(line)["event"] for line in (tmp_path / "two" / "log.jsonl").read_text().splitlines()]
    assert events == ["start", "epoch", "epoch", "epoch", "epoch", "end"]


def test_what_is_dropped_in_shares_is_what_is_dropped_in_micro_batches_of_their_size(tmp_path):
    one, _ = tiny_team.learnt(tmp_path / "one", rows=12, drop=0.5, micro_batch=2)
    whole, _ = tiny_team.learnt(tmp_path / "whole", rows=12, drop=0.5)
    (two, _), _ = of_two(tmp_path / "two", rows=12, drop=0.5)
    np.testing.assert_allclose(two, one, atol=1e-5)
    assert not np.allclose(whole, one, atol=1e-3)


def test_two_processes_go_on_from_the_checkpoint_that_the_leader_left(tmp_path):
    tiny_team.learnt(tmp_path / "two")
    place = json.loads((tmp_path / "two" / "checkpoint" / "place.json").read_text())
    assert (place["epoch"], place["batch"]) == (3, 4)
    _, weights = tiny_team.learnt(tmp_path / "one")
    for _, found in of_two(tmp_path / "two", resume=True):
        for name, weight in weights.items():
            np.testing.assert_allclose(found[name], weight, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("rows", [0, 1, 5, 12])
def test_shares_are_the_whole_batch_in_order_and_nearly_equal(size, rows):
    batch = np.arange(rows)
    teams = [Team(rank, size) for rank in range(size)]
    shares = [team.share(batch) for team in teams]
    np.testing.assert_array_equal(np.concatenate(shares), batch)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert all(share[0] == team.place(rows) for team, share in zip(teams, shares, strict=True) if len(share))


def test_a_process_that_was_started_alone_is_a_team_of_one(monkeypatch):
    for name in ("WORLD_SIZE", "RANK"):
        monkeypatch.delenv(name, raising=False)
    assert started_team() is current_team() is ALONE
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "2")
    assert started_team() == Team(2, 4)
    assert not started_team().leads
    assert current_team() is ALONE


@pytest.mark.slow
def test_a_command_under_torchrun_writes_and_says_everything_once(tmp_path):
    corpus = tiny_corpus()
    train, test = corpus.train.split(0.25)
    tw.write(Corpus(train, corpus.labels, test=test), tmp_path / "data", format="jsonl")
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-addr"]
    launch += ["127.0.0.1", "--master-port", free_port(), "-m", "tailwright"]
    command = ["train", str(tmp_path / "data"), "--out", str(tmp_path / "run"), "--model", "twin", "--json"]
    small = [part for value in ("width=16", "epochs=2", "batch=32") for part in ("--set", value)]
    done = subprocess.run(
        [*launch, *command, *small, "--device", "cpu"],
        env={**os.environ, **ONE_THREAD},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    metrics = json.loads(line)["metrics"]
    assert metrics == tw.evaluate(tw.load(tmp_path / "run"), test)
    events = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [event["phase"] for event in events if event["event"] == "start"].count("twin") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "run"]


def test_a_fusion_is_refused_by_several_processes(monkeypatch):
    from contextlib import contextmanager

    @contextmanager
    def of_three():
        yield Team(1, 3)

    monkeypatch.setattr("tailwright.runs.training.connected", of_three)
    with pytest.raises(InputError, match="3 processes for linear\\+twin, expected one"):
        tw.train(tiny_corpus(), "linear+twin")
