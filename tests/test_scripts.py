"""Scripts that tests start run as processes of their own."""

from __future__ import annotations

import signal

import pytest
from scripts import start_anew, start_script

SAYS = """
import os, sys, warnings
import numba, torch
if __name__ == "__main__":
    print(sys.argv[1:], os.environ["COLOUR"], torch.get_num_threads(), numba.get_num_threads())
    warnings.warn("careful")
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "says.py"
    path.write_text(SAYS)
    return path


def test_a_script_has_its_arguments_environment_and_threads(script):
    one = start_script(script, "a", 2, COLOUR="red", OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
    two = start_script(script, COLOUR="blue", OMP_NUM_THREADS="2", NUMBA_NUM_THREADS="2")
    assert one.communicate()[0] == "['a', '2'] red 1 1\n"
    assert two.communicate()[0] == "[] blue 2 2\n"
    assert (one.returncode, two.returncode) == (0, 0)


def test_a_failure_and_a_warning_where_that_is_strict_end_it_with_code_1(script):
    strict = start_script(script, COLOUR="red", strict=True)
    assert "UserWarning: careful" in strict.communicate()[1]
    assert strict.returncode == 1


def test_a_script_runs_in_the_folder_of_its_test(tmp_path, monkeypatch):
    (tmp_path / "where.py").write_text("import os\nprint(os.getcwd())\n")
    monkeypatch.chdir(tmp_path)
    assert start_script("where.py").communicate()[0] == f"{tmp_path}\n"


def test_one_that_is_started_anew_has_other_hashes(tmp_path):
    (tmp_path / "hashes.py").write_text("print(hash('a'))\n")
    first, second, anew = (
        start(tmp_path / "hashes.py").communicate()[0] for start in (start_script, start_script, start_anew)
    )
    assert first == second != anew


def test_it_can_be_killed(tmp_path):
    (tmp_path / "waits.py").write_text("import time\nprint('here', flush=True)\ntime.sleep(600)\n")
    waiting = start_script(tmp_path / "waits.py")
    waiting.wait_for_line(1)
    assert waiting.poll() is None
    waiting.kill()
    assert waiting.communicate()[0] == "here\n"
    assert waiting.returncode == -signal.SIGKILL
