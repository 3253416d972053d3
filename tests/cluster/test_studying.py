"""The cells of a study as tasks of a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import two_nodes
from toy_study import command, is_alive, study, workers_of
from trained_cells import digests, study_in, trained_here

from tailwright.cli import run
from tailwright.cluster import studying
from tailwright.cluster.connection import Cluster
from tailwright.cluster.studying import RayWorkers
from tailwright.errors import InputError
from tailwright.study.plan.cells import Cell
from tailwright.study.run.outcomes import load_outcome
from tailwright.study.run.runner import run_study
from tailwright.study.run.worker import Ended

TWO = """
[datasets]
toy = "data"
[models.popularity]
[augmentations.none]
[augmentations.gandalf]
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("studying")


@pytest.fixture(scope="module")
def wanted(place) -> dict[str, str]:
    """What the cells give without a cluster."""
    return trained_here(study_in(place, "here"))


def wait_for(found, seconds: float = 120.0):
    """What `found` gives, once it is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if there := found():
            return there
        time.sleep(0.05)
    raise AssertionError("waited in vain")


@pytest.mark.usefixtures("cluster")
def test_cells_give_the_same_on_two_workers_and_an_ensemble_waits_for_its_members(place, wanted, capsys):
    found = study_in(place, "two")
    arguments = ["study", str(place / "plan.toml"), "--out", str(found.folder), "--json"]
    assert run([*arguments, "--on", "ray", "--workers", "2"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["cells"], said["finished"], said["failed"]) == (3, 3, {})
    assert (found.folder / "tables.md").is_file()
    assert digests(found) == wanted
    assert load_outcome(found.place(found.cells[0][0])).made is not None
    assert (found.folder / "shared").is_dir()  # one of two cells made the label graph


@pytest.mark.slow
def test_cells_give_the_same_on_one_worker_and_in_processes_of_this_machine(cluster, place, wanted):
    for name, workers in (("one", RayWorkers(replace(cluster, workers=1), place / "one")), ("plain", 2)):
        found = study_in(place, name)
        assert run_study(found, workers=workers, shown=False).finished == 3
        assert digests(found) == wanted


def test_a_cell_whose_worker_is_killed_is_run_again_with_the_same_result(cluster, place, wanted):
    found = study_in(place, "killed")
    killed: list[int] = []

    def kill() -> None:
        (cell, *_) = wait_for(lambda: workers_of(found.folder))
        parent = psutil.Process(cell).parent()
        assert parent is not None
        killed.append(parent.pid)
        parent.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    ran = run_study(found, workers=RayWorkers(cluster, found.folder), only="linear / none", shown=False)
    killer.join()
    assert killed
    assert (ran.finished, ran.failed) == (1, {})
    (key,) = found.keys("linear / none")
    assert digests(found) == {key: wanted[key]}


def test_a_cell_that_fails_is_recorded_and_the_rest_goes_on(cluster, place, monkeypatch):
    monkeypatch.setattr(studying, "memory_mb", lambda cell: 1e9)  # more than any node has
    found = study_in(place, "failing", TWO)
    (failing,) = found.keys("none")
    in_the_way = found.place(failing) / "run"
    in_the_way.mkdir(parents=True)
    (in_the_way / "mine.txt").touch()
    ran = run_study(found, workers=RayWorkers(cluster, found.folder), shown=False)
    assert ran.finished == 1
    assert list(ran.failed.values()) == [
        f"{in_the_way}: exists already, expected a new folder, or --overwrite"
    ]
    assert "Traceback" in (found.place(failing) / "error.txt").read_text()


def test_a_cell_that_is_stopped_leaves_no_process(cluster, place):
    found = study_in(place, "stopped")
    key, cell = found.cells[0]
    found.folder.mkdir()
    task = RayWorkers(cluster, found.folder).start(key, cell, found.place(key), curves=False)
    (process,) = wait_for(lambda: workers_of(found.folder))
    assert task.ended() is None
    assert task.seconds > 0
    task.stop()
    wait_for(lambda: not is_alive(process))
    assert not found.is_finished(key)
    assert not (found.place(key) / studying.STOP).exists()


def test_a_node_that_does_not_see_the_folder_says_so(cluster, place):
    found = study_in(place, "unseen")
    key, cell = found.cells[0]
    workers = RayWorkers(cluster, Path("/nowhere/at/all"))
    task = workers.start(key, cell, found.place(key), curves=False)
    ended = wait_for(task.ended)
    assert ended.how == "failed"
    assert "does not see /nowhere/at/all: --out must be on storage that all nodes see" in ended.reason
    assert found.reason(key) == ended.reason


def test_an_outcome_that_is_not_here_is_waited_for_and_then_missed(cluster, place, monkeypatch):
    found = study_in(place, "elsewhere")
    key, cell = found.cells[0]
    monkeypatch.setattr(studying, "run_cell", finished_elsewhere)
    task = RayWorkers(cluster, found.folder).start(key, cell, found.place(key), curves=False)
    wait_for(lambda: task.ended() is None and task.unseen_since)
    monkeypatch.setattr(studying, "SECONDS_UNSEEN", 0.0)
    assert "it ended on a node that does not share" in wait_for(task.ended).reason


def finished_elsewhere(asked) -> Ended:
    return Ended("finished")


def lost(asked) -> Ended:
    os._exit(3)


def raising(asked) -> Ended:
    raise InputError("found a node of another kind")


@pytest.mark.slow
def test_a_cell_whose_worker_is_lost_again_and_again_fails(cluster, place, monkeypatch):
    found = study_in(place, "lost", TWO)
    monkeypatch.setattr(studying, "run_cell", lost)
    ran = run_study(found, workers=RayWorkers(cluster, found.folder), only="none", shown=False)
    assert list(ran.failed.values()) == ["its worker of the cluster was lost 4 times"]


def test_a_task_that_raises_is_a_failure_in_one_line(cluster, place, monkeypatch):
    found = study_in(place, "raising", TWO)
    monkeypatch.setattr(studying, "run_cell", raising)
    ran = run_study(found, workers=RayWorkers(cluster, found.folder), only="none", shown=False)
    assert list(ran.failed.values()) == ["found a node of another kind"]


def test_more_threads_than_a_node_has_are_refused(cluster, place):
    with pytest.raises(InputError, match=r"--threads 100000, expected at most the \d+ cores of a node"):
        RayWorkers(Cluster(1, 100_000), place)


def test_memory_is_what_the_model_forecasts_where_it_does(place):
    study_in(place, "forecast")
    path = str(place / "data")
    assert studying.memory_mb(Cell("toy", path, "popularity")) == 0
    small, large = (
        studying.memory_mb(Cell("toy", path, "twin", settings={"width": width})) for width in (32, 4096)
    )
    assert 0 < small < large


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--on", "spark"], "--on 'spark', expected ray, for this machine, or ray://HOST:PORT"),
        (["--on", "ray", "--keep", "kept"], "--on and --keep together, expected one of them"),
        (["--on", "ray", "--no-training"], "--on and --no-training together, expected one of them"),
    ],
)
def test_options_that_mean_nothing_are_refused_before_anything_is_read(tmp_path, options, message, capsys):
    assert run(["study", "no-such-plan.toml", "--out", str(tmp_path / "s"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_study_that_is_ended_leaves_no_process_and_goes_on_where_it_was(place, wanted, how):
    found = study_in(place, f"ended-{how.name}")
    words = [*command(place / "plan.toml", found.folder), "--on", "ray", "--workers", "1"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        wait_for(lambda: any(map(found.is_finished, found.keys())) and workers_of(found.folder))
        process.send_signal(how)
        _, said = process.communicate()
    wait_for(lambda: not workers_of(found.folder))
    if how == signal.SIGTERM:
        assert process.returncode == 130
        assert "the same command goes on from here" in said
        assert "Traceback" not in said
    before = {key: (found.place(key) / "outcome").stat().st_mtime_ns for key in digests(found)}
    done = study(place / "plan.toml", found.folder, "--on", "ray", "--workers", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert digests(found) == wanted
    after = {key: (found.place(key) / "outcome").stat().st_mtime_ns for key in before}
    assert before
    assert after == before, "a finished cell was run again"


@pytest.mark.slow
def test_a_cell_whose_node_is_killed_is_run_again_on_another(place, wanted):
    found = study_in(place, "nodes")
    words = [sys.executable, two_nodes.__file__, str(place / "plan.toml"), str(found.folder)]
    tests = Path(__file__).resolve().parent
    paths = os.pathsep.join([str(tests), str(tests.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths}
    )
    assert done.returncode == 0, done.stderr
    # Ray prints what it knows of the lost node, before our line or after it.
    said = json.loads(next(line for line in done.stdout.splitlines() if line.startswith('{"killed"')))
    assert said["killed"], "the node was not working on a cell"
    assert (said["finished"], said["failed"]) == (3, {})
    assert digests(found) == wanted
