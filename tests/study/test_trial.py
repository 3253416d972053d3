"""One cell from its corpus to its outcome: which rows, which search, what is counted."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from toy_study import toy_corpus

import tailwright as tw
from tailwright.data import Corpus
from tailwright.runs import training
from tailwright.study.plan.cells import Cell
from tailwright.study.run import outcomes, trial
from tailwright.study.run.exam import Exam
from tailwright.study.run.trial import rows_of, tried, watched

LINEAR = Cell("toy", "data", "linear", settings={"trees": 1})


@pytest.fixture(scope="module")
def exam() -> Exam:
    return Exam("toy", toy_corpus())


def test_rows_are_held_out_first_and_then_sampled_by_no_cells_seed(exam):
    cells = [replace(LINEAR, fraction=fraction, seed=seed) for fraction in (0.5, 1.0) for seed in (0, 1)]
    half, half_again, whole, _ = (rows_of(cell, exam.corpus) for cell in cells)
    assert half.same_as(half_again)
    assert half.valid.same_as(whole.valid)
    assert set(half.train.origin.rows) < set(whole.train.origin.rows)
    assert not set(whole.train.origin.rows) & set(whole.valid.origin.rows)
    assert (len(whole.valid), len(half.train)) == (9, 40)
    assert rows_of(replace(LINEAR, valid=0.0), exam.corpus).valid is None


def test_an_outcome_says_what_the_run_gives(exam, tmp_path):
    cell = replace(LINEAR, augmentation="gandalf", augment=("gandalf",), seed=3)
    outcome = tried(cell, "key", exam, tmp_path)
    run = tw.load(tmp_path / "run")
    assert outcome.metrics == tw.evaluate(run, exam.test)
    assert np.array_equal(outcome.top, run.model.predict(exam.test.texts, outcome.top.shape[1]).ids)
    assert (run.seed, run.augment) == (3, ("gandalf",))
    seen = rows_of(cell, exam.corpus)
    assert (outcome.n_train, outcome.n_augmented) == (len(seen.train), len(seen.labels))
    assert np.array_equal(outcome.counts, seen.labels.counts)
    added = tw.augment(seen, "gandalf", seed=3).train.targets[len(seen.train) :]
    assert np.allclose(outcome.augmented_counts, seen.labels.counts + added.sum(axis=0))
    assert outcome.peak_rss_mb > 1
    assert outcome.searched == outcome.chosen == {}


def test_rows_are_made_once_and_counted_by_the_run(exam, tmp_path, monkeypatch):
    made = []
    changed_rows = training.changed_rows
    monkeypatch.setattr(
        training, "changed_rows", lambda *given, **named: made.append(given) or changed_rows(*given, **named)
    )
    cell = replace(LINEAR, augment=("gandalf",), fraction=0.5)
    outcome = tried(cell, "key", exam, tmp_path)
    assert len(made) == 1
    again = tried(cell, "key", exam, tmp_path)
    assert len(made) == 1
    assert (again.n_augmented, again.n_train) == (outcome.n_augmented, outcome.n_train)
    assert np.array_equal(again.augmented_counts, outcome.augmented_counts)
    assert tw.load(tmp_path / "run").fraction == 0.5


def test_augmented_counts_are_weighted(exam, tmp_path):
    cell = Cell(
        "toy", "data", "popularity", augment=("gandalf",), augment_settings={"gandalf": {"soft": False}}
    )
    light = replace(cell, augment_settings={"gandalf": {"soft": False, "weight": 0.25}})
    for name, each, expected in (("a", cell, 1.0), ("b", light, 0.25)):
        outcome = tried(each, "key", exam, tmp_path / name)
        assert np.allclose(outcome.augmented_counts - outcome.counts, expected)


SEARCH = Cell(
    "toy",
    "data",
    "popularity",
    augment=("gandalf",),
    search={"gandalf.weight": (0.5, 30.0)},
    search_metric="PSP@5",
)


def test_a_search_keeps_the_best_on_validation_rows_and_ranks_test_rows_once(exam, tmp_path, monkeypatch):
    asked = []
    ranked = outcomes.ranked
    monkeypatch.setattr(outcomes, "ranked", lambda run, data, tail: asked.append(data) or ranked(run, data))
    outcome = tried(SEARCH, "key", exam, tmp_path)
    corpus = rows_of(SEARCH, exam.corpus)
    expected = {
        weight: tw.evaluate(
            tw.train(
                corpus, "popularity", augment=["gandalf"], augment_settings={"gandalf": {"weight": weight}}
            ),
            corpus.valid,
        )["PSP@5"]
        for weight in (0.5, 30.0)
    }
    assert outcome.searched == {f"gandalf.weight={weight}": value for weight, value in expected.items()}
    assert expected[0.5] != expected[30.0]
    best = max(expected, key=lambda weight: expected[weight])
    assert outcome.chosen == {"gandalf.weight": best}
    assert [data is exam.test for data in asked] == [True]
    again = tw.train(
        corpus, "popularity", augment=["gandalf"], augment_settings={"gandalf": {"weight": best}}
    )
    assert outcome.metrics == tw.evaluate(again, exam.test)
    assert sorted(path.name for path in (tmp_path / "search").rglob("*")) == [
        "0",
        "1",
        "judged.json",
        "judged.json",
    ]


class KilledError(BaseException):
    """Stands for a kill."""


@pytest.mark.parametrize("step", range(6))
def test_a_search_that_is_killed_goes_on_to_the_same_outcome(exam, tmp_path, monkeypatch, step):
    whole = tried(SEARCH, "key", exam, tmp_path / "whole")
    left = step

    def counted(function):
        def call(*arguments, **options):
            nonlocal left
            if left == 0:
                raise KilledError
            left -= 1
            return function(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(trial, "train", counted(trial.train))
        patch.setattr(trial, "write_whole", counted(trial.write_whole))
        patch.setattr(training, "finish", counted(training.finish))
        with pytest.raises(KilledError):
            tried(SEARCH, "key", exam, tmp_path / "cell")
    again = tried(SEARCH, "key", exam, tmp_path / "cell")
    assert np.array_equal(again.top, whole.top)
    assert (again.searched, again.chosen) == (whole.searched, whole.chosen)
    assert [event["event"] for event in again.log] == [event["event"] for event in whole.log]
    assert not list((tmp_path / "cell").rglob("*.partial"))


def test_a_run_that_is_there_is_not_trained_again(exam, tmp_path, monkeypatch):
    first = tried(LINEAR, "key", exam, tmp_path)
    monkeypatch.setattr(trial, "train", lambda *arguments, **options: pytest.fail("trained again"))
    second = tried(LINEAR, "key", exam, tmp_path)
    assert np.array_equal(first.top, second.top)
    assert (first.train_seconds, first.metrics) == (second.train_seconds, second.metrics)


def test_curves_watch_the_same_few_rows_in_every_cell(exam, monkeypatch):
    monkeypatch.setattr(trial, "WATCHED_ROWS", 7)
    corpus = rows_of(LINEAR, exam.corpus)
    first, second = (watched(corpus, exam.test) for _ in range(2))
    assert {name: len(rows) for name, rows in first.items()} == {"train": 7, "test": 7}
    assert all(first[name].same_as(second[name]) for name in first)
    assert set(first["train"].origin.rows) <= set(corpus.train.origin.rows)


def test_curves_are_logged_and_change_nothing_else(exam, tmp_path):
    cell = Cell("toy", "data", "twin", settings={"width": 16, "epochs": 1})
    plain, curved = (
        tried(cell, "key", exam, tmp_path / name, curves=name == "curved") for name in ("plain", "curved")
    )
    assert np.array_equal(plain.top, curved.top)
    epochs = [event for event in curved.log if event["event"] == "epoch"]
    assert [set(event["watched"]) for event in epochs] == [{"train", "test"}]
    assert not any("watched" in event for event in plain.log)


def test_validation_rows_that_a_corpus_brings_are_used(exam):
    train, valid = exam.corpus.train.split(0.5)
    brought = Corpus(train, exam.corpus.labels, valid=valid, test=exam.corpus.test)
    assert rows_of(LINEAR, brought).valid.same_as(valid)
    assert len(rows_of(LINEAR, brought).train) == len(train)


def test_the_log_of_a_cell_is_that_of_its_run(exam, tmp_path):
    outcome = tried(replace(LINEAR, model="popularity", settings={}), "key", exam, tmp_path)
    lines = (tmp_path / "run" / "log.jsonl").read_text().splitlines()
    assert list(outcome.log) == [json.loads(line) for line in lines]
