"""The weight of generated rows, searched on validation rows; the rows are made once for all weights."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_study import plan_of, study, toy_corpus, write_data

import tailwright as tw
from tailwright.augmentation.eda import Eda
from tailwright.data import Corpus, Dataset
from tailwright.study.plan.cells import Cell
from tailwright.study.run.exam import Exam
from tailwright.study.run.outcomes import Outcome
from tailwright.study.run.trial import rows_of, tried

WEIGHTS = (0.1, 0.25, 0.5, 1.0)
PLAN = """
title = "weights"
seeds = [0]
valid = 0.2
search_metric = "nDCG@5"
[datasets]
toy = "data"
[models.linear]
trees = 1
[models.popularity]
[augmentations.none]
[augmentations.eda]
tail_below = 13
outputs = 8
search = { weight = [0.1, 0.25, 0.5, 1.0] }
"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seed of every making of rows."""
    seeds: list[int] = []
    new_rows = Eda.new_rows

    def counted(self: Eda, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Dataset:
        seeds.append(seed)
        return new_rows(self, corpus, seed=seed, workers=workers)

    monkeypatch.setattr(Eda, "new_rows", counted)
    return seeds


def cells(tmp_path: Path) -> list[Cell]:
    write_data(tmp_path / "data")
    return [cell for cell in plan_of(tmp_path, PLAN).listed if cell.augment]


def test_the_best_weight_on_validation_rows_is_kept_and_rows_are_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: list[int]
) -> None:
    asked = cells(tmp_path)
    assert [cell.search for cell in asked] == [{"eda.weight": WEIGHTS}] * 2
    exam = Exam("toy", toy_corpus())
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path / "shared"))
    outcomes = {
        cell.model: tried(cell, "key", exam, tmp_path / str(number)) for number, cell in enumerate(asked)
    }
    assert made == [0]  # for both models and all weights
    monkeypatch.delenv("TAILWRIGHT_SHARED")
    # Neither the first nor the last of the list, which a search might take without looking.
    assert outcomes["popularity"].chosen == {"eda.weight": 0.25}
    for cell in asked:
        check_outcome(cell, outcomes[cell.model], exam)


def check_outcome(cell: Cell, outcome: Outcome, exam: Exam) -> None:
    """Found as trainings that share nothing would have found it."""
    corpus = rows_of(cell, exam.corpus)
    assert corpus.valid is not None
    runs = {
        weight: tw.train(
            corpus,
            cell.model,
            augment=["eda"],
            settings=cell.settings,
            augment_settings={"eda": {**cell.augment_settings["eda"], "weight": weight}},
            seed=cell.seed,
        )
        for weight in WEIGHTS
    }
    judged = {weight: tw.evaluate(run, corpus.valid)["nDCG@5"] for weight, run in runs.items()}
    assert outcome.searched == {f"eda.weight={weight}": value for weight, value in judged.items()}
    best = max(judged, key=lambda weight: judged[weight])
    assert outcome.chosen == {"eda.weight": best}
    assert outcome.metrics == tw.evaluate(runs[best], exam.test)


@pytest.mark.slow
def test_a_study_by_the_real_command_keeps_rows_of_one_making_for_all_weights(tmp_path: Path) -> None:
    cells(tmp_path)
    done = study(tmp_path / "plan.toml", tmp_path / "study", "-q", "--only", "*/ popularity /*")
    assert "2 of 2 cells are finished, 0 failed" in done.stdout, done.stderr
    assert len(list((tmp_path / "study" / "shared").glob("rows-*"))) == 1
