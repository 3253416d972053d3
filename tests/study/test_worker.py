"""The process of one cell: its lock, its exit codes, and that it never outlives its parent."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from toy_study import is_alive, plan_of, write_data

from tailwright.errors import TailwrightError
from tailwright.study.run import trial, worker
from tailwright.study.run.exam import exam_of
from tailwright.study.run.outcomes import is_finished, load_outcome
from tailwright.study.run.trial import key_of
from tailwright.study.run.worker import FAILED, FINISHED, NO_SPACE, TAKEN, locked, work


@pytest.fixture
def folder(tmp_path):
    """The folder of a cell that is asked for."""
    write_data(tmp_path / "data")
    (cell, *_) = plan_of(tmp_path).cells()
    place = tmp_path / "cell"
    place.mkdir()
    asked = {"key": key_of(cell, exam_of(cell).corpus), "cell": cell.as_dict(), "curves": False}
    (place / "cell.json").write_text(json.dumps(asked))
    return place


def test_a_cell_is_finished_once(folder):
    assert work(folder) == FINISHED
    assert is_finished(folder)
    assert load_outcome(folder).cell.model == "popularity"
    before = (folder / "outcome" / "manifest.json").stat().st_mtime_ns
    assert work(folder) == FINISHED
    assert (folder / "outcome" / "manifest.json").stat().st_mtime_ns == before


def test_a_cell_that_another_process_works_on_is_left_to_it(folder):
    lock = locked(folder)
    assert lock is not None
    assert locked(folder) is None
    assert work(folder) == TAKEN
    lock.release()
    assert work(folder) == FINISHED


def test_a_lock_goes_with_its_process(folder):
    code = (
        "import sys, time; from pathlib import Path; from tailwright.study.run.worker import locked\n"
        "lock = locked(Path(sys.argv[1])); assert lock is not None\n"
        "print('locked', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"locked\n"
        assert locked(folder) is None
        holder.kill()
    lock = locked(folder)
    assert lock is not None
    lock.release()


@pytest.mark.parametrize("changed", ["data", "code"])
def test_changed_data_or_code_is_not_taken_for_what_was_asked(folder, changed, capsys, monkeypatch):
    if changed == "data":
        exam_of.__globals__["_kept"].cache_clear()
        with (folder.parent / "data" / "train.jsonl").open("a") as file:
            file.write('{"text": "one more", "labels": ["0"]}\n')
    else:
        monkeypatch.setattr(trial, "code_version", lambda modules: "another")
    assert work(folder) == FAILED
    assert capsys.readouterr().err.splitlines()[-1].startswith("the data or the code changed")
    assert not is_finished(folder)


def test_a_failure_ends_with_the_line_that_people_are_shown(folder, capsys, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr(trial, "tried", broken)
    assert work(folder) == FAILED
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("Traceback")
    assert said[-1] == "ZeroDivisionError: two lines"


def test_a_full_disk_is_told_apart_and_leaves_no_outcome(folder, capsys, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert work(folder) == NO_SPACE
    assert "cannot be written (No space left on device)" in capsys.readouterr().err.splitlines()[-1]
    assert not is_finished(folder)
    assert not (folder / "run").exists()
    monkeypatch.undo()
    assert work(folder) == FINISHED


def test_only_a_full_disk_is_one():
    full = TailwrightError("x")
    full.__cause__ = OSError(errno.ENOSPC, "no space")
    assert worker._is_full(full)
    assert not worker._is_full(TailwrightError("x"))
    assert not worker._is_full(OSError(errno.EACCES, "no"))


# Ends with its parent also while compiled code keeps the interpreter from running.
BUSY = """
import os, re, sys
from tailwright.study.run.worker import end_with_the_parent
end_with_the_parent(sys.stdin.fileno())
print(os.getpid(), flush=True)
re.match("(a+)+b", "a" * 60)
"""
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE, start_new_session=True)
time.sleep(600)
"""


def test_a_worker_ends_when_its_parent_is_killed():
    with subprocess.Popen([sys.executable, "-c", PARENT, BUSY], stdout=subprocess.PIPE) as parent:
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        try:
            for _ in range(200):
                if not is_alive(child):
                    return
                time.sleep(0.05)
            raise AssertionError("the worker outlived its parent")
        finally:
            if is_alive(child):
                os.kill(child, signal.SIGKILL)


def test_a_worker_whose_parent_is_gone_already_does_not_start():
    read, write = os.pipe()
    os.close(write)
    with pytest.raises(SystemExit) as end:
        worker.end_with_the_parent(read)
    assert end.value.code == FAILED
    os.close(read)
