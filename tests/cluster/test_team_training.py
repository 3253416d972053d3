"""Torch models that the workers of a cluster train together, by Ray Train."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from team_helpers import ROWS, SETTINGS, KilledOnce

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.cluster.team_training import (
    CorpusOnDisk,
    _of_workers,
    _WorkerLostError,
    train_together,
    trains_together,
)
from tailwright.data import Corpus
from tailwright.errors import InputError
from tailwright.training.weights import weights_of

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")  # Ray's own use of itself


def events_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def losses(folder: Path) -> list[float]:
    return [event["loss"] for event in events_of(folder) if event["event"] == "epoch"]


def alone(folder: Path) -> tw.Run:
    """What one process learns; its micro-batches are of the size of two workers' shares."""
    return tw.train(tiny_corpus(ROWS), "xml-cnn", settings={**SETTINGS, "micro_batch": 8}, out=folder)


def assert_same(found: tw.Run, wanted: tw.Run) -> None:
    weights = weights_of(wanted.model.network)
    for name, weight in weights_of(found.model.network).items():
        np.testing.assert_allclose(weight, weights[name], rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("model", "can"),
    [("roberta", True), ("attentionxml", True), ("linear", False), ("linear+xml-cnn", False)],
)
def test_a_team_trains_what_torch_computes(model, can):
    assert trains_together(model) is can


class FailedError(Exception):
    """As Ray Train tells of failures: by rank, its own or what the function raised."""

    def __init__(self, **failures: Exception) -> None:
        self.worker_failures = {int(rank[1:]): failure for rank, failure in failures.items()}


class LostError(Exception):
    __module__ = "ray.exceptions"


def test_a_mistake_of_the_user_counts_more_than_a_lost_connection():
    mistake = InputError("found x")
    assert _of_workers(FailedError(r0=RuntimeError("closed by peer"), r1=mistake)) is mistake


def test_a_bug_of_a_worker_is_not_tried_again_and_a_lost_worker_is():
    bug = KeyError("name")
    assert _of_workers(FailedError(r0=RuntimeError("closed by peer"), r1=bug)) is bug
    for failed in (
        FailedError(r0=RuntimeError("closed by peer")),
        FailedError(r0=bug, r1=LostError("the actor died\nits worker was killed")),
        ValueError("the controller is gone"),
    ):
        found = _of_workers(failed)
        assert isinstance(found, _WorkerLostError)
        assert "\n" not in str(found)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--workers", "2"], "--workers without --on, expected --on ray, or --on ray://HOST:PORT"),
        (["--on", "spark"], "--on 'spark', expected ray, for this machine, or ray://HOST:PORT"),
        (["--on", "ray", "--continue", "run"], "--continue and --on, expected one of them"),
    ],
)
def test_options_that_do_not_go_together_are_one_line(tmp_path, capsys, options, said):
    assert run(["train", "data", "--out", str(tmp_path / "run"), *options]) == 2
    assert capsys.readouterr().err == f"tailwright: {said}\n"
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_two_workers_have_the_loss_curve_of_one_process(cluster, tmp_path):
    tw.write(tiny_corpus(ROWS), tmp_path / "data", format="jsonl")
    on_disk = CorpusOnDisk(tmp_path / "data")
    found = train_together(cluster, on_disk, "xml-cnn", settings=SETTINGS, out=tmp_path / "two")
    wanted = alone(tmp_path / "one")
    np.testing.assert_allclose(losses(tmp_path / "two"), losses(tmp_path / "one"), rtol=1e-4)
    assert_same(found, wanted)
    assert found.data.path == str(tmp_path / "data")
    one, two = (
        sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
        for folder in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "one", "two"]


@pytest.mark.slow
@pytest.mark.parametrize("sharded", [False, True])
def test_a_killed_worker_costs_the_steps_since_the_last_checkpoint(cluster, tmp_path, sharded):
    """With labels that are shared out as well, which are all in the checkpoint."""
    train, valid = tiny_corpus(ROWS + 20).train.split(20 / (ROWS + 20))
    corpus = Corpus(train, tiny_corpus().labels, valid=valid)
    assert len(train) == ROWS
    mark, out, settings = tmp_path / "mark", tmp_path / "killed", {**SETTINGS, "sharded": sharded}
    found = train_together(
        cluster, corpus, "xml-cnn", settings=settings, out=out, callbacks=[KilledOnce(mark)]
    )
    assert mark.exists()
    wanted = tw.train(corpus, "xml-cnn", settings={**SETTINGS, "micro_batch": 8}, out=tmp_path / "one")
    assert_same(found, wanted)
    events, of_one = events_of(out), events_of(tmp_path / "one")
    assert [(event["epoch"], event["batch"]) for event in events if event["event"] == "resume"] == [(1, 4)]
    qualities = [event["valid"] for event in events if event["event"] == "epoch"]
    # The first epoch ended twice: it was killed when it had.
    assert qualities[1:] == [event["valid"] for event in of_one if event["event"] == "epoch"]


@pytest.mark.slow
def test_a_mistake_that_a_worker_finds_is_one_line_and_leaves_nothing(cluster, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").touch()
    with pytest.raises(InputError, match=r"run: exists already, expected a new folder, or --overwrite"):
        train_together(cluster, tiny_corpus(ROWS), "xml-cnn", settings=SETTINGS, out=tmp_path / "run")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["mine", "run"]


@pytest.mark.slow
def test_a_killed_command_goes_on_with_resume(tmp_path):
    tw.write(tiny_corpus(ROWS), tmp_path / "data", format="jsonl")
    settings = {**SETTINGS, "epochs": 200}
    command = [sys.executable, "-m", "tailwright", "train", str(tmp_path / "data"), "--model", "xml-cnn"]
    command += [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    command += ["--on", "ray", "--workers", "2", "--threads", "1", "--json", "--out"]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    out, partial = tmp_path / "killed", tmp_path / "killed.partial"
    started = subprocess.Popen([*command, str(out)], env=paths, stdout=subprocess.DEVNULL)
    while started.poll() is None and not (partial / "log.jsonl").exists():
        time.sleep(0.01)
    assert started.poll() is None
    started.send_signal(signal.SIGKILL)
    started.wait()
    assert partial.exists()
    again = [*command, str(out), "--resume"]
    done = subprocess.run(again, env=paths, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["model"] == "xml-cnn"
    wanted = tw.train(
        tmp_path / "data", "xml-cnn", settings={**settings, "micro_batch": 8}, out=tmp_path / "one"
    )
    np.testing.assert_allclose(losses(out)[-200:], losses(tmp_path / "one"), rtol=1e-2)
    assert len(tw.load(out).labels) == len(wanted.labels)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "killed", "one"]
