"""An attentionxml that is stopped or killed anywhere in its levels and resumed learns the same weights."""

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
import tiny_attentionxml

ONE_THREAD = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
# 42 rows in batches of 32 for two epochs are 4 steps; a tree of three levels has as many at each.
STEPS = {"flat": 4, "tree": 12}


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    return {form: tiny_attentionxml.learnt(form, None) for form in STEPS}


@pytest.mark.parametrize(
    ("form", "stop"),
    [("flat", 1), ("flat", 3), *(("tree", stop) for stop in (1, 4, 5, 6, 8, 9, 12))],
)
def test_stopped_after_any_checkpoint_it_ends_with_the_same_weights(tmp_path, expected, form, stop):
    with stopped_after(stop):
        tiny_attentionxml.learnt(form, tmp_path)
    assert tiny_attentionxml.learnt(form, tmp_path, resume=True) == expected[form]


@pytest.mark.parametrize("form", STEPS)
def test_the_steps_that_are_stopped_at_are_those_of_all_levels(tmp_path, monkeypatch, form):
    done = []
    monkeypatch.setattr(Workplace, "checkpoint", lambda self, save, *, now=False: done.append(1))
    tiny_attentionxml.learnt(form, tmp_path)
    assert len(done) == STEPS[form]


def place_of(folder: Path) -> tuple[int, int, int]:
    """Phase, epoch and batch of the newest checkpoint; of none while it is replaced."""
    try:
        place = json.loads((folder / "checkpoint" / "place.json").read_text())
        return int(place["phase"]), int(place["epoch"]), int(place["batch"])
    except (OSError, ValueError):
        return -1, 0, 0


@pytest.mark.slow
@pytest.mark.parametrize(("form", "reached"), [("flat", (0, 1, 1)), ("tree", (1, 0, 1))])
def test_killed_in_the_middle_it_ends_with_the_same_weights(tmp_path, form, reached):
    """The flat form in its second epoch, a tree at its second level."""
    undisturbed, fit = (
        start_script(tiny_attentionxml.__file__, form, tmp_path / name, **ONE_THREAD)
        for name in ("undisturbed", "killed")
    )
    while fit.poll() is None and place_of(tmp_path / "killed") < reached:
        time.sleep(0.001)
    fit.kill()
    fit.communicate()
    assert place_of(tmp_path / "killed") >= reached
    last = start_anew(tiny_attentionxml.__file__, form, tmp_path / "killed", **ONE_THREAD)
    found, wanted = last.communicate()[0], undisturbed.communicate()[0]
    assert (last.returncode, undisturbed.returncode) == (0, 0)
    assert found == wanted
