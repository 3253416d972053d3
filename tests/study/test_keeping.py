"""Outcomes that are kept in a small folder and taken into another study."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from kept_study import PLAN, bytes_of, finish, finished_and_kept
from toy_study import plan_of

from tailwright.cli import run
from tailwright.errors import InputError
from tailwright.study.run import runner, trial
from tailwright.study.run.exam import exam_of
from tailwright.study.run.keeping import drop_taken, keep_outcomes, take_outcomes
from tailwright.study.run.outcomes import load_outcome, outcomes_of, save_outcome
from tailwright.study.run.runner import Study, prepared, write_down
from tailwright.study.run.trial import tried
from tailwright.study.run.worker import locked


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    return finished_and_kept(tmp_path_factory.mktemp("keeping"))


@pytest.fixture
def place(finished) -> Path:
    """A finished study of four cells, and what it keeps; the test before may have written another plan."""
    plan_of(finished, PLAN)
    return finished


@pytest.fixture
def kept(place, tmp_path) -> Path:
    """A copy of the kept outcomes, to be damaged."""
    return Path(shutil.copytree(place / "kept", tmp_path / "kept"))


@pytest.fixture
def empty(place, tmp_path) -> Study:
    """The same study in a new folder."""
    return prepared(plan_of(place, PLAN), tmp_path / "study")


@pytest.fixture
def later(place, tmp_path, monkeypatch) -> Study:
    """The same study in a new folder, with a later version of the code."""
    monkeypatch.setattr(runner, "code_of", lambda cell: "f" * 32)
    return prepared(plan_of(place, PLAN), tmp_path / "study")


def test_outcomes_come_back_as_they_were(place, empty):
    write_down(empty)
    assert take_outcomes(empty, place / "kept") == 4
    before, after = outcomes_of(place / "study"), outcomes_of(empty.folder)
    assert len(before) == len(after) == 4
    for mine, theirs in zip(before, after, strict=True):
        for name in ("top", "counts", "augmented_counts"):
            assert np.array_equal(getattr(mine, name), getattr(theirs, name))
        facts = ("cell", "key", "metrics", "log", "searched", "chosen", "n_augmented", "made", "peak_rss_mb")
        assert all(getattr(mine, name) == getattr(theirs, name) for name in facts)
        assert theirs.taken
        assert not theirs.of_other_code


def test_the_same_outcomes_give_the_same_bytes_wherever_they_are_kept_from(place, empty, tmp_path):
    take_outcomes(empty, place / "kept")
    found = keep_outcomes(empty, tmp_path / "again")
    assert (found.written, found.unchanged, found.missing) == (4, 0, 0)
    assert bytes_of(tmp_path / "again") == bytes_of(place / "kept")
    found = keep_outcomes(empty, tmp_path / "again")
    assert (found.written, found.unchanged) == (0, 4)
    assert keep_outcomes(prepared(plan_of(place, PLAN), tmp_path / "none"), tmp_path / "no").missing == 4
    assert not (tmp_path / "no").exists()


def test_kept_outcomes_name_no_path(place):
    for path in (place / "kept").rglob("*.parquet"):
        assert str(place).encode() not in path.read_bytes()


def test_outcomes_of_several_studies_share_a_folder(place, kept, tmp_path):
    before = bytes_of(kept)
    other = prepared(plan_of(place, PLAN.replace("trees = 1", "trees = 2")), tmp_path / "other")
    (key,) = other.keys("linear / none")
    finish(other, key)
    assert keep_outcomes(other, kept).written == 1
    after = bytes_of(kept)
    assert before.items() <= after.items()
    assert len(after) == len(before) + 1  # its counts are there already


def test_later_code_finds_outcomes_and_tables_say_that_they_are_of_earlier_code(place, later, capsys):
    assert not {key for key, _ in later.cells} & {path.name for path in (place / "study/cells").iterdir()}
    write_down(later)
    assert take_outcomes(later, place / "kept") == 4
    made = {outcome.made for outcome in outcomes_of(later.folder)}
    assert made == {outcome.made for outcome in outcomes_of(place / "study")}
    arguments = ["study", str(place / "plan.toml"), "--out", str(later.folder), "--no-training", "--json"]
    assert run(arguments) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["finished"], said["failed"]) == (4, {})
    versions = ", ".join(sorted({one.code[:8] for one in made}))
    note = f"Taken from kept outcomes of another version of the code ({versions}): "
    assert note in (later.folder / "tables.md").read_text()
    assert note in (later.folder / "report.html").read_text()


def test_outcomes_of_todays_code_need_no_note(place, empty, capsys):
    arguments = ["study", str(place / "plan.toml"), "--out", str(empty.folder), "-q"]
    assert run([*arguments, "--from", str(place / "kept")]) == 0
    assert "4 of 4 cells are finished" in capsys.readouterr().out
    assert "another version" not in (empty.folder / "tables.md").read_text()


def test_cells_of_earlier_code_are_kept_where_they_learnt_from_the_same_rows(place, monkeypatch, tmp_path):
    folder = tmp_path / "study"
    shutil.copytree(place / "study", folder)
    for cell in (folder / "cells").iterdir():  # as they were before outcomes said how they were made
        save_outcome(replace(load_outcome(cell), made=None), cell)
    before = bytes_of(folder)
    monkeypatch.setattr(runner, "code_of", lambda cell: "f" * 32)
    study = prepared(plan_of(place, PLAN), folder)
    assert keep_outcomes(study, tmp_path / "kept").written == 4
    assert bytes_of(folder) == before
    taking = prepared(plan_of(place, PLAN), tmp_path / "taking")
    assert take_outcomes(taking, tmp_path / "kept") == 4
    outcomes = [load_outcome(taking.place(key)) for key, _ in taking.cells]
    assert {outcome.made.code for outcome in outcomes} == {""}
    assert all(outcome.of_other_code for outcome in outcomes)
    other = prepared(plan_of(place, PLAN.replace("curves", "valid = 0.3\ncurves")), folder)
    assert keep_outcomes(other, tmp_path / "other").missing == 4


def test_a_cell_that_was_taken_in_is_trained_only_when_asked(place, empty, capsys):
    take_outcomes(empty, place / "kept")
    (key,) = empty.keys("popularity / none")
    arguments = ["study", str(place / "plan.toml"), "--out", str(empty.folder), "-q"]
    arguments += ["--only", "popularity / none"]
    assert run(arguments) == 0
    assert load_outcome(empty.place(key)).taken
    assert run([*arguments, "--anew"]) == 0
    outcome = load_outcome(empty.place(key))
    assert not outcome.taken
    assert outcome.made == empty.made[key]
    assert drop_taken(empty) == 3
    assert empty.is_finished(key)


def test_a_finished_cell_and_one_that_is_worked_on_are_left_alone(place, empty):
    keys = list(empty.keys())
    finish(empty, keys[0])
    empty.place(keys[1]).mkdir(parents=True)
    lock = locked(empty.place(keys[1]))
    try:
        assert take_outcomes(empty, place / "kept") == 2
    finally:
        lock.release()
    assert not load_outcome(empty.place(keys[0])).taken
    assert not empty.is_finished(keys[1])


def test_an_ensemble_of_cells_that_were_taken_in_says_what_it_lacks(place, tmp_path):
    plan = PLAN.replace(
        "search = { weight = [0.5, 1.0] }",
        'search = { weight = [0.5, 1.0] }\n[augmentations.both]\nensemble = ["none", "gandalf"]',
    )
    study = prepared(plan_of(place, plan), tmp_path / "study")
    take_outcomes(study, place / "kept")
    (key,) = study.keys("popularity / both")
    cell = study.keys()[key]
    with pytest.raises(InputError, match=r"none .* was taken in without its run, expected a trained run"):
        tried(cell, key, exam_of(cell), study.place(key))


@pytest.mark.parametrize(
    "options",
    [
        ["--keep", "a", "--from", "b"],
        ["--keep", "a", "--dry-run"],
        ["--from", "a", "--anew"],
        ["--anew", "--no-training"],
    ],
)
def test_options_that_ask_for_two_things_are_refused(place, tmp_path, options, capsys):
    arguments = ["study", str(place / "plan.toml"), "--out", str(tmp_path / "s"), *options]
    assert run(arguments) == 2
    assert "together, expected one of them" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


def test_the_command_keeps_what_is_finished_and_runs_nothing(place, tmp_path, capsys):
    before = bytes_of(place / "study")
    arguments = ["study", str(place / "plan.toml"), "--out", str(place / "study"), "--json"]
    assert run([*arguments, "--keep", str(tmp_path / "kept"), "--only", "linear"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["written"], said["unchanged"], said["missing"]) == (2, 0, 0)
    assert bytes_of(place / "study") == before


def test_a_key_tells_how_a_cell_was_made(empty):
    for key, cell in empty.cells:
        assert trial.made_of(cell, exam_of(cell).corpus) == empty.made[key]
        assert cell.key(empty.made[key].data, empty.made[key].code) == key
