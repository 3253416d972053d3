"""An astec that is killed anywhere in its phases, or between them, and resumed learns the same weights."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest
from scripts import start_anew, start_script
from stopped_fits import stopped_after

from tailwright.training.workplace import Workplace

sys.path.insert(0, str(Path(__file__).parent))
import tiny_astec

THREADS = {"OMP_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2"}
# Steps of 120 rows in batches of 32, by phase: surrogate 8, extreme 8, rerank 4; for each of two learners.
STEPS = 40


@pytest.mark.parametrize("stop", [1, 8, 9, 15, 16, 17, 20, 21, 30, 40])
def test_stopped_after_any_checkpoint_it_ends_with_the_same_weights(tmp_path, expected, stop):
    with stopped_after(stop):
        tiny_astec.learnt(tmp_path)
    assert tiny_astec.learnt(tmp_path, resume=True) == expected


@pytest.fixture(scope="module")
def expected() -> str:
    return tiny_astec.learnt(None)


def test_the_steps_that_are_stopped_at_are_those_of_all_phases(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(Workplace, "checkpoint", lambda self, save, *, now=False: done.append(1))
    tiny_astec.learnt(tmp_path)
    assert len(done) == STEPS


def phase_of(folder: Path) -> int:
    """The phase of the newest checkpoint; -1 before the first and in the moment of replacing it."""
    try:
        return int(json.loads((folder / "checkpoint" / "place.json").read_text())["phase"])
    except (OSError, ValueError):
        return -1


@pytest.mark.slow
def test_killed_in_two_phases_it_ends_with_the_same_weights(tmp_path):
    undisturbed = start_script(tiny_astec.__file__, tmp_path / "undisturbed", **THREADS)
    wanted, _ = undisturbed.communicate()
    assert undisturbed.returncode == 0
    kills = 0
    for phase in (1, 3):
        fit = start_script(tiny_astec.__file__, tmp_path / "killed", **THREADS)
        while fit.poll() is None and phase_of(tmp_path / "killed") < phase:
            time.sleep(0.001)
        if fit.poll() is None:
            fit.kill()
            kills += 1
        fit.communicate()
    assert kills >= 1
    last = start_anew(tiny_astec.__file__, tmp_path / "killed", **THREADS)
    found, _ = last.communicate()
    assert last.returncode == 0
    assert found == wanted
