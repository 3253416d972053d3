"""A lightxml that retrains its head, killed anywhere and resumed, learns the same weights."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from scripts import start_anew, start_script
from stopped_fits import stopped_after
from tiny_encoders import save_reader

from tailwright.training.workplace import Workplace

sys.path.insert(0, str(Path(__file__).parent))
import tiny_retraining
from tiny_retraining import F0_STEPS, RETRAINING_STEPS


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    return str(save_reader(tmp_path_factory.mktemp("lightxml") / "bert", width=16, layers=4))


@pytest.fixture
def _every_checkpoint(monkeypatch) -> None:
    checkpoint = Workplace.checkpoint
    monkeypatch.setattr(
        Workplace, "checkpoint", lambda self, save, *, now=False: checkpoint(self, save, now=True)
    )


@pytest.mark.usefixtures("_every_checkpoint")
@pytest.mark.parametrize("form", tiny_retraining.FORMS)
def test_stopped_after_any_checkpoint_it_ends_with_the_same_weights(tmp_path, encoder, form):
    wanted = tiny_retraining.learnt(form, encoder, None)
    for stop in (3, F0_STEPS, F0_STEPS + 1, F0_STEPS + RETRAINING_STEPS):
        folder = tmp_path / str(stop)
        folder.mkdir()
        with stopped_after(stop):
            tiny_retraining.learnt(form, encoder, folder)
        assert tiny_retraining.learnt(form, encoder, folder, resume=True) == wanted, f"stopped at {stop}"


@pytest.mark.parametrize("part", ["f0/checkpoint", "f0/finished", "checkpoint"])
def test_killed_it_ends_with_the_same_weights(tmp_path, encoder, part):
    asked, threads = (
        (tiny_retraining.__file__, "flat", encoder),
        {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
    )
    for name in ("undisturbed", "killed"):
        (tmp_path / name).mkdir()
    undisturbed = start_script(*asked, tmp_path / "undisturbed", **threads)
    wanted, _ = undisturbed.communicate()
    assert undisturbed.returncode == 0
    fit = start_script(*asked, tmp_path / "killed", **threads)
    while fit.poll() is None and not (tmp_path / "killed" / "run.partial" / part).exists():
        time.sleep(0.001)
    assert fit.poll() is None, "it was done before it could be killed"
    fit.kill()
    fit.communicate()
    last = start_anew(*asked, tmp_path / "killed", **threads)
    found, _ = last.communicate()
    assert last.returncode == 0
    assert found == wanted
