"""A lightxml that retrains its head, killed anywhere and resumed, learns the same weights."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from scripts import undisturbed_and_killed
from stopped_fits import stopped_after
from tiny_encoders import save_reader

import tailwright as tw
from tailwright.augmentation.xda import Xda
from tailwright.checks.corpora import tiny_corpus
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
@pytest.mark.parametrize("form", ["flat", pytest.param("grouped", marks=pytest.mark.slow)])
def test_stopped_after_any_checkpoint_it_ends_with_the_same_weights(tmp_path, encoder, form):
    wanted = tiny_retraining.learnt(form, encoder, None)
    for stop in (3, F0_STEPS, F0_STEPS + 1, F0_STEPS + RETRAINING_STEPS):
        folder = tmp_path / str(stop)
        folder.mkdir()
        with stopped_after(stop):
            tiny_retraining.learnt(form, encoder, folder)
        assert tiny_retraining.learnt(form, encoder, folder, resume=True) == wanted, f"stopped at {stop}"


@pytest.mark.usefixtures("_every_checkpoint")
def test_stopped_in_any_stage_of_the_pipeline_it_ends_with_the_same_weights(tmp_path, encoder, monkeypatch):
    def learnt(name: str, resume: bool = False) -> str:
        monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / name / "cache"))
        run = tw.train(
            tiny_corpus(tiny_retraining.ROWS),
            "lightxml",
            augment=["xda"],
            settings={**tiny_retraining.FORMS["flat"], "encoder": encoder},
            augment_settings={"xda": {**Xda.quick, "keep": 0.8}},
            seed=3,
            out=tmp_path / name / "run",
            resume=resume,
        )
        assert run.rows_added > 0
        return tiny_retraining.digest(run.model)

    wanted = learnt("undisturbed")
    t5_steps = 3  # one of a new T5, two of its prompt
    for stop in (1, 2, t5_steps + F0_STEPS - 1, t5_steps + F0_STEPS + 2):
        with stopped_after(stop):
            learnt(str(stop))
        assert learnt(str(stop), resume=True) == wanted, f"stopped at {stop}"


@pytest.mark.slow
@pytest.mark.parametrize("part", ["f0/checkpoint", "f0/finished", "checkpoint"])
def test_killed_it_ends_with_the_same_weights(tmp_path, encoder, part):
    wanted, found = undisturbed_and_killed(
        tiny_retraining.__file__, "flat", encoder, folder=tmp_path, until=f"run.partial/{part}"
    )
    assert found == wanted
