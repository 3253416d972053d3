"""A fit that is killed at any moment and resumed learns the same weights, bit for bit."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scripts import Script, start_anew, start_script
from stopped_fits import stopped_after

sys.path.insert(0, str(Path(__file__).parent))
import tiny_fit

THREADS = {"OMP_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2"}


def place(folder: Path) -> tuple[int, int]:
    """(epoch, batch) of the newest checkpoint; (0, 0) before the first and in the moment of replacing it."""
    try:
        found = json.loads((folder / "checkpoint" / "place.json").read_text())
    except (OSError, ValueError):
        return 0, 0
    return found["epoch"], found["batch"]


def kill_when(fit: Script, folder: Path, after: tuple[int, int], pause: float) -> bool:
    """Kill -9 a little after the checkpoint has come to that place; whether it was still running."""
    while fit.poll() is None and place(folder) < after:
        time.sleep(0.001)
    time.sleep(pause)
    running = fit.poll() is None
    if running:
        fit.kill()
    fit.communicate()
    return running


def test_killed_at_random_points_it_ends_with_the_same_weights(tmp_path):
    undisturbed = start_script(tiny_fit.__file__, tmp_path / "undisturbed", **THREADS)
    expected, _ = undisturbed.communicate()
    assert undisturbed.returncode == 0
    random = np.random.Generator(np.random.Philox(key=int(time.time())))
    folder = tmp_path / "killed"
    kills = 0
    for epoch in (0, 1, 2):
        fit = start_script(tiny_fit.__file__, folder, **THREADS)
        kills += kill_when(fit, folder, (epoch, int(random.integers(1, 7))), random.random() * 0.02)
    assert kills >= 2
    last = start_anew(tiny_fit.__file__, folder, **THREADS)
    found, _ = last.communicate()
    assert last.returncode == 0
    assert found == expected
    events = [json.loads(line)["event"] for line in (folder / "log.jsonl").read_text().splitlines()]
    assert "resume" in events


@pytest.mark.parametrize(
    ("stop", "mixed"), [*((stop, False) for stop in (1, 5, 6, 7, 13, 19)), (6, True), (13, True)]
)
def test_stopped_after_any_checkpoint_it_ends_with_the_same_weights(tmp_path, stop, mixed):
    expected = tiny_fit.learnt(None, mixed=mixed)
    with stopped_after(stop):
        tiny_fit.learnt(tmp_path, mixed=mixed)
    assert tiny_fit.learnt(tmp_path, resume=True, mixed=mixed) == expected
