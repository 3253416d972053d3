"""Studies as they are run: finished cells stay, failed ones are recorded, kills change nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from hashlib import sha256
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from toy_study import command, plan_of, study, workers_of, write_data

from tailwright.cli import run
from tailwright.errors import TailwrightError
from tailwright.streams import stream
from tailwright.study.run import runner, worker
from tailwright.study.run.outcomes import outcomes_of
from tailwright.study.run.runner import prepared, run_study

SMALL = """
title = "small"
[datasets]
toy = "data"
[models.popularity]
[models.linear]
trees = 1
[augmentations.none]
[augmentations.gandalf]
search = { weight = [0.5, 1.0] }
"""
LESS = SMALL.replace("[models.linear]\ntrees = 1\n", "")
FIRST = "toy / popularity / none / 1 / seed 0"
KILLS = 3


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with the toy corpus, the small plan in it, and that study undisturbed."""
    folder = tmp_path_factory.mktemp("study")
    write_data(folder / "data")
    plan_of(folder, SMALL)
    start = time.monotonic()
    done = study(folder / "plan.toml", folder / "whole", "--json")
    assert done.returncode == 0, done.stderr
    (folder / "seconds.txt").write_text(str(time.monotonic() - start))
    (folder / "said.json").write_text(done.stdout)
    (folder / "noted.txt").write_text(done.stderr)
    return folder


def fingerprints(folder: Path) -> dict[str, tuple[int, str]]:
    """When each file was last written and what is in it."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mtime_ns,
            sha256(path.read_bytes()).hexdigest(),
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def values(folder: Path) -> list[dict]:
    """The results but for what the machine decides."""
    table = pq.read_table(folder / "results.parquet")
    return table.drop_columns(["train_seconds", "predict_seconds", "peak_rss_mb"]).to_pylist()


def rankings(folder: Path) -> dict[str, list]:
    return {outcome.key: outcome.top.tolist() for outcome in outcomes_of(folder)}


def test_a_study_ends_with_what_it_did(place):
    said = json.loads((place / "said.json").read_text())
    assert (said["cells"], said["finished"], said["failed"], said["left_out"]) == (4, 4, {}, [])
    assert {"results.parquet", "tables.md", "tables.tex"} <= set(said["files"])
    assert all((place / "whole" / name).is_file() for name in said["files"])
    lines = (place / "noted.txt").read_text().splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["[1/4]", "[2/4]", "[3/4]", "[4/4]"]
    assert lines[0].startswith("[1/4] toy / popularity / none / 1 / seed 0: ")
    assert lines[0].endswith(" left")
    assert (place / "whole" / "study.toml").read_text() == SMALL


def test_a_finished_cell_is_not_touched_again(place):
    before = fingerprints(place / "whole" / "cells")
    assert study(place / "plan.toml", place / "whole", "--workers", "2").returncode == 0
    assert fingerprints(place / "whole" / "cells") == before


def test_other_names_find_the_finished_cells(place):
    renamed = SMALL.replace("toy =", "renamed =").replace("gandalf]", 'other]\nmethod = "gandalf"')
    found = prepared(plan_of(place, renamed), place / "whole")
    try:
        assert all(found.is_finished(key) for key, _ in found.cells)
        assert {cell.dataset for _, cell in found.cells} == {"renamed"}
    finally:
        plan_of(place, SMALL)


def test_a_plan_that_asks_for_less_counts_only_that(place, tmp_path):
    shutil.copytree(place / "whole", tmp_path / "s")
    plan_of(tmp_path, LESS.replace('"data"', f'"{place / "data"}"'))
    assert run(["study", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "s"), "-q"]) == 0
    assert {outcome.cell.model for outcome in outcomes_of(tmp_path / "s")} == {"popularity"}
    assert len(list((tmp_path / "s" / "cells").iterdir())) == 4


def test_a_dry_run_lists_the_cells_and_writes_nothing(place, tmp_path, capsys):
    assert run(["study", str(place / "plan.toml"), "--out", str(tmp_path / "no"), "--dry-run", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [cell["state"] for cell in cells] == ["to do"] * 4
    assert not (tmp_path / "no").exists()
    arguments = ["study", str(place / "plan.toml"), "--out", str(place / "whole"), "--dry-run"]
    assert run([*arguments, "--only", "linear"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("finished  ") == 2
    assert "2 of 2 cells are finished" in shown


def test_only_what_is_asked_for_is_run(place, tmp_path):
    ran = run_study(prepared(plan_of(place, SMALL), tmp_path), only="popularity / none", shown=False)
    assert (ran.asked, ran.finished) == (1, 1)
    assert [outcome.cell.title for outcome in outcomes_of(tmp_path)] == [
        "toy / popularity / none / 1 / seed 0"
    ]


def test_a_pattern_of_no_cell_is_refused(place, tmp_path, capsys):
    arguments = ["study", str(place / "plan.toml"), "--out", str(tmp_path / "s"), "--only", "twin"]
    assert run(arguments) == 2
    assert f"--only 'twin' is in the name of no cell, expected a part of one such as '{FIRST}'" in (
        capsys.readouterr().err
    )
    assert not (tmp_path / "s").exists()


def test_a_plan_needs_a_folder(place, capsys):
    assert run(["study", str(place / "plan.toml")]) == 2
    assert "Missing option '--out'" in capsys.readouterr().err
    assert run(["study", str(place / "plan.toml"), "somewhere", "--out", "x"]) == 2
    assert "somewhere" in capsys.readouterr().err


@pytest.mark.slow
def test_a_study_killed_at_random_moments_gives_the_same(place, tmp_path):
    # In shares of what the undisturbed study took, so that kills find cells in all states on any machine.
    moments = stream(0, "kills").uniform(0.3, 0.8, size=KILLS) * float((place / "seconds.txt").read_text())
    untouched: dict[str, dict] = {}
    for moment in moments:
        with subprocess.Popen(
            command(place / "plan.toml", tmp_path / "s", "-q"), start_new_session=True
        ) as process:
            try:
                process.wait(moment)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        for key, before in untouched.items():
            assert fingerprints(tmp_path / "s" / "cells" / key) == before, "a finished cell was touched"
        finished = [path.parent for path in (tmp_path / "s").glob("cells/*/outcome")]
        untouched = {folder.name: fingerprints(folder) for folder in finished}
    assert untouched, "no kill came after a finished cell"
    done = study(place / "plan.toml", tmp_path / "s", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["finished"] == 4
    assert values(tmp_path / "s") == values(place / "whole")
    assert rankings(tmp_path / "s") == rankings(place / "whole")


@pytest.mark.slow
def test_two_studies_work_on_one_folder_without_collision(place, tmp_path):
    both = [
        subprocess.Popen(
            command(place / "plan.toml", tmp_path / "s", "--json"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert [json.loads(out)["finished"] for out, _ in said] == [4, 4]
    assert "another study is working on it" in said[0][1] + said[1][1]
    assert values(tmp_path / "s") == values(place / "whole")
    assert rankings(tmp_path / "s") == rankings(place / "whole")


def wait_for_workers(out: Path) -> list[int]:
    for _ in range(600):
        found = workers_of(out)
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("no worker was started")


def wait_for_their_end(out: Path) -> None:
    for _ in range(200):
        if not workers_of(out):
            return
        time.sleep(0.05)
    raise AssertionError("a worker outlived its study")


@pytest.fixture
def not_in_the_background():
    """Tests that run in the background of a shell have SIGINT ignored, and would hand that on."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("not_in_the_background")
@pytest.mark.parametrize(
    "how",
    [signal.SIGTERM, *(pytest.param(how, marks=pytest.mark.slow) for how in (signal.SIGKILL, signal.SIGINT))],
)
def test_workers_end_with_their_study_however_it_ends(place, tmp_path, how):
    out = tmp_path / "s"
    with subprocess.Popen(
        command(place / "plan.toml", out),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        wait_for_workers(out)
        process.send_signal(how)
        _, said = process.communicate()
    wait_for_their_end(out)
    if how != signal.SIGKILL:
        assert process.returncode == 130
        assert "the same command goes on from here" in said
        assert "Traceback" not in said


@pytest.fixture
def study_of_two(place, tmp_path, monkeypatch):
    """A study of two cells whose first worker is replaced by a line of Python."""

    def make(first: str):
        started = []
        popen = subprocess.Popen

        def replaced(arguments, **options):
            started.append(arguments)
            if len(started) == 1:
                arguments = [arguments[0], "-c", first]
            return popen(arguments, **options)

        monkeypatch.setattr(worker.subprocess, "Popen", replaced)
        monkeypatch.setattr(runner, "SECONDS_BETWEEN_LOOKS_AT_OTHERS", 0.05)
        plan = plan_of(tmp_path, LESS.replace('"data"', f'"{place / "data"}"'))
        return prepared(plan, tmp_path / "s")

    return make


def test_a_cell_that_fails_is_recorded_and_the_rest_goes_on(study_of_two, monkeypatch, capsys):
    found = study_of_two("import sys; sys.exit('first line\\nValueError: no such luck')")
    ran = run_study(found)
    (failed,) = [key for key, _ in found.cells if not found.is_finished(key)]
    assert (ran.finished, ran.failed) == (
        1,
        {FIRST: "ValueError: no such luck"},
    )
    assert "failed: ValueError: no such luck" in capsys.readouterr().err
    written = (found.place(failed) / "error.txt").read_text()
    assert written == "ValueError: no such luck\n\nfirst line\nValueError: no such luck\n"
    again = run_study(found, shown=False)
    assert (again.finished, again.failed) == (2, {})
    assert not (found.place(failed) / "error.txt").exists()


def test_a_worker_that_the_system_kills_is_recorded_as_such(study_of_two):
    ran = run_study(study_of_two("import os; os.kill(os.getpid(), 9)"), shown=False)
    assert list(ran.failed.values()) == ["killed by SIGKILL, most likely for lack of memory"]
    assert ran.finished == 1


def test_a_full_disk_ends_the_study_in_one_line(study_of_two):
    line = "x: cannot be written (No space left on device)"
    with pytest.raises(TailwrightError, match=r"x: cannot be written \(No space left on device\)"):
        run_study(study_of_two(f"import sys; print({line!r}); sys.exit(74)"), shown=False)


def test_the_command_says_what_failed_and_exits_with_1(place, tmp_path, capsys):
    plan = plan_of(tmp_path, LESS.replace('"data"', f'"{place / "data"}"'))
    key, _ = prepared(plan, tmp_path / "s").cells[0]
    in_the_way = tmp_path / "s" / "cells" / key / "run"
    in_the_way.mkdir(parents=True)
    (in_the_way / "mine.txt").touch()
    assert run(["study", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "s"), "-q", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["cells"], said["finished"]) == (2, 1)
    assert said["failed"] == {FIRST: f"{in_the_way}: exists already, expected a new folder, or --overwrite"}
    assert "Traceback" in (in_the_way.parent / "error.txt").read_text()
    assert (in_the_way / "mine.txt").exists()


def test_a_plan_over_data_without_test_rows_is_refused_before_anything_runs(tmp_path, capsys):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.jsonl").write_text('{"text": "x", "labels": ["a"]}\n')
    plan_of(tmp_path)
    assert run(["study", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "s")]) == 2
    assert f"{tmp_path / 'data'}: found no test rows, expected test rows" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


def test_threads_are_divided_among_the_workers(tmp_path, monkeypatch):
    found = worker.environment_of(tmp_path, 3)
    assert (found["OMP_NUM_THREADS"], found["NUMBA_NUM_THREADS"]) == ("3", "3")
    assert found["TAILWRIGHT_SHARED"] == str(tmp_path)
    given = []
    monkeypatch.setattr(runner, "environment_of", lambda shared, threads: given.append(threads) or {})
    write_data(tmp_path / "data")
    empty = prepared(plan_of(tmp_path), tmp_path / "s")
    for workers_asked, threads in [(1, 4), (2, 4), (3, 4), (8, 4)]:
        run_study(empty, workers=workers_asked, threads=threads, only="nothing", shown=False)
    assert given == [4, 2, 1, 1]
