"""A lightxml of either form that is killed anywhere and resumed learns the same weights."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from scripts import start_anew, start_script
from stopped_fits import stopped_after
from tiny_encoders import save_reader

sys.path.insert(0, str(Path(__file__).parent))
import tiny_lightxml


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    return str(save_reader(tmp_path_factory.mktemp("lightxml") / "bert", width=16, layers=4))


@pytest.mark.parametrize("form", tiny_lightxml.FORMS)
def test_stopped_after_any_checkpoint_it_ends_with_the_same_weights(tmp_path, encoder, form):
    wanted = tiny_lightxml.learnt(form, encoder, None)
    for stop in (1, 4, 6, tiny_lightxml.STEPS):
        folder = tmp_path / str(stop)
        with stopped_after(stop):
            tiny_lightxml.learnt(form, encoder, folder)
        assert tiny_lightxml.learnt(form, encoder, folder, resume=True) == wanted, f"stopped at {stop}"


@pytest.mark.parametrize("form", ["flat", "grouped"])
def test_killed_it_ends_with_the_same_weights(tmp_path, encoder, form):
    asked, threads = (
        (tiny_lightxml.__file__, form, encoder),
        {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
    )
    undisturbed = start_script(*asked, tmp_path / "undisturbed", **threads)
    wanted, _ = undisturbed.communicate()
    assert undisturbed.returncode == 0
    fit = start_script(*asked, tmp_path / "killed", **threads)
    while fit.poll() is None and not (tmp_path / "killed" / "checkpoint").exists():
        time.sleep(0.001)
    assert fit.poll() is None, "it was done before it could be killed"
    fit.kill()
    fit.communicate()
    last = start_anew(*asked, tmp_path / "killed", **threads)
    found, _ = last.communicate()
    assert last.returncode == 0
    assert '"resume"' in (tmp_path / "killed" / "log.jsonl").read_text()
    assert found == wanted
