"""Writers that are killed: whatever the moment, the place holds the old folder or the new one, whole."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sample_folder import mark_of, siblings, write_mark

HERE = Path(__file__).parent

KILLED = """
import sys, time
from tailwright.store import writing
with writing(sys.argv[1], kind="mark", overwrite=True) as folder:
    folder.json("mark.json", "new")
    print("in the middle", flush=True)
    time.sleep(600)
"""


def test_a_process_killed_in_the_middle_leaves_the_old_folder_and_the_next_writer_clears_up(tmp_path):
    path = tmp_path / "run"
    write_mark(path, "old")
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"in the middle\n"
        write_mark(tmp_path / "run2", "another place")
        (alive,) = [name for name in siblings(path) if name != "run2"]
        write_mark(path, "newer")
        assert siblings(path) == [alive, "run2"], "the sibling of a living writer is not touched"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert mark_of(path) == "newer"
    assert siblings(path) == [alive, "run2"]
    write_mark(path, "newest")
    assert mark_of(path) == "newest"
    assert siblings(path) == ["run2"]


# Forks a writer for every step it takes to the disk, and kills it just before that step.
KILLED_AT_EACH_STEP = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from sample_folder import mark_of, siblings, write_mark
from tailwright.store import DamagedFolderError, placing

path, can_exchange = Path(sys.argv[1]), sys.argv[3] == "exchange"
left = 0

def counted(function):
    def step(*args, **options):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return function(*args, **options)
    return step

marks = []
for steps in range(100):
    write_mark(path, "old")
    child = os.fork()
    if child == 0:
        left = steps
        if not can_exchange:
            placing._exchange = lambda one, other: False
        placing._exchange = counted(placing._exchange)
        for name in ("fsync", "rename", "rmdir", "unlink", "mkdir", "open"):
            setattr(os, name, counted(getattr(os, name)))
        write_mark(path, "new")
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
    try:
        marks.append(mark_of(path))
    except DamagedFolderError as error:
        assert "does not exist, but" in str(error), error
        marks.append("aside")
        try:
            write_mark(path, "refused", overwrite=False)
        except Exception as refusal:
            assert "exists already" in str(refusal), refusal
        assert mark_of(path) == "old"
    write_mark(path, "next")
    assert siblings(path) == [], siblings(path)
print(*marks)
"""


@pytest.mark.parametrize("way", ["exchange", "two steps"])
def test_a_process_killed_at_any_step_leaves_the_old_folder_or_the_new_one(tmp_path, way):
    script = [sys.executable, "-c", KILLED_AT_EACH_STEP, str(tmp_path / "run"), str(HERE), way]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    marks = done.stdout.split()
    assert marks.count("old") > 8
    assert marks.count("new") > 2
    expected = ["old", "new"] if way == "exchange" else ["old", "aside", "new"]
    assert list(dict.fromkeys(marks)) == expected
    assert marks.count("aside") == (way != "exchange")
