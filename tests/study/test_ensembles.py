"""Ensembles in a study: finished cells answer together, and nothing is trained for it."""

from __future__ import annotations

import numpy as np
import pytest
from toy_study import plan_of, write_data

from tailwright.errors import InputError
from tailwright.runs import Ensemble
from tailwright.runs.evaluation import ranked
from tailwright.runs.run import load
from tailwright.study.plan.cells import cell_from
from tailwright.study.run.exam import exam_of
from tailwright.study.run.outcomes import outcomes_of
from tailwright.study.run.runner import prepared, run_study

PLAN = """
[datasets]
toy = "data"
[models.linear]
trees = 1
[augmentations.none]
[augmentations.both]
ensemble = ["none", "gandalf"]
[augmentations.gandalf]
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ensembles")
    write_data(folder / "data")
    return folder


def test_the_members_of_an_ensemble_answer_together(place):
    study = prepared(plan_of(place, PLAN), place / "study")
    ran = run_study(study, workers=2, shown=False)
    assert (ran.finished, ran.failed) == (3, {})
    found = {outcome.cell.augmentation: outcome for outcome in outcomes_of(place / "study")}
    members = [found[name] for name in ("none", "gandalf")]
    runs = tuple(load(member.folder / "run") for member in members)
    assert np.array_equal(found["both"].top, ranked(Ensemble(runs), exam_of(found["both"].cell).test).ids)
    assert found["both"].train_seconds == pytest.approx(sum(member.train_seconds for member in members))
    assert found["both"].metrics["P@1"] > 0
    assert not (found["both"].folder / "run").exists()


def test_ensembles_come_after_their_members_and_survive_being_written_down(place):
    cells = plan_of(place, PLAN).cells()
    assert [cell.augmentation for cell in cells] == ["none", "gandalf", "both"]
    assert cell_from(cells[2].as_dict()) == cells[2]
    assert [member.augmentation for member in cells[2].ensemble] == ["none", "gandalf"]


@pytest.mark.slow
def test_an_ensemble_whose_members_are_not_finished_says_which(place, tmp_path):
    study = prepared(plan_of(place, PLAN), tmp_path / "study")
    ran = run_study(study, only="both", shown=False)
    (reason,) = ran.failed.values()
    assert reason.startswith("toy / linear / none / 1 / seed 0 is not finished")
    run_study(study, shown=False)
    assert run_study(study, shown=False).finished == 3


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ('["none"]', "expected two augmentations or more, each once"),
        ('["none", "none"]', "expected two augmentations or more, each once"),
        ('["none", "both"]', "'both'"),
        ('["none", "nothing"]', "'nothing'"),
    ],
)
def test_an_ensemble_of_what_is_not_there_is_refused(place, members, message):
    with pytest.raises(InputError, match=message):
        plan_of(place, PLAN.replace('["none", "gandalf"]', members))


def test_an_ensemble_with_a_member_that_a_model_cannot_have_is_left_out(place):
    plan = plan_of(place, PLAN.replace("gandalf", "labelmix"))
    assert [cell.augmentation for cell in plan.cells()] == ["none"]
    assert [line.partition(":")[0] for line in plan.left_out] == ["linear x both", "linear x labelmix"]
