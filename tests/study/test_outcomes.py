"""Outcomes: kept whole, found by the list of a study, made of hand-picked runs too."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np
import pytest
from toy_study import toy_corpus, write_data

import tailwright as tw
from tailwright.data import Corpus
from tailwright.errors import InputError
from tailwright.store import writing
from tailwright.study.plan.cells import Cell
from tailwright.study.run.exam import Exam
from tailwright.study.run.outcomes import (
    is_finished,
    list_cells,
    load_outcome,
    outcome_of_run,
    outcomes_of,
    peak_in,
    read_log,
    save_outcome,
    seconds_in,
)
from tailwright.study.run.trial import tried

CELL = Cell("toy", "data", "popularity", search={"gandalf.weight": (0.5, 1.0)}, augment=("gandalf",))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """An outcome, and the folder of the cell that keeps it."""
    folder = tmp_path_factory.mktemp("study") / "cells" / "key"
    outcome = tried(CELL, "key", Exam("toy", toy_corpus()), folder)
    assert not is_finished(folder)
    save_outcome(outcome, folder)
    return outcome, folder


def test_an_outcome_comes_back_as_it_was_kept(kept):
    outcome, folder = kept
    assert is_finished(folder)
    loaded = load_outcome(folder)
    for field in fields(outcome):
        mine, theirs = getattr(outcome, field.name), getattr(loaded, field.name)
        same = np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs
        assert same, field.name
    assert loaded.chosen


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("train_seconds", "1"), ("n_train", 1.5), ("metrics", []), ("key", None), ("chosen", 3)),
        ("stopped_learning", 1),
    ],
)
def test_a_damaged_outcome_is_one_clear_error(kept, tmp_path, name, value):
    outcome, _ = kept
    save_outcome(replace(outcome, **{name: value}), tmp_path)
    with pytest.raises(InputError, match=f"expected {name}: "):
        load_outcome(tmp_path)


def test_an_outcome_from_before_there_was_a_flag_does_not_know_whether_it_had_stopped_learning(
    kept, tmp_path
):
    outcome, _ = kept
    save_outcome(replace(outcome, stopped_learning=False), tmp_path)
    assert load_outcome(tmp_path).stopped_learning is False
    older = json.loads((tmp_path / "outcome" / "result.json").read_text())
    del older["stopped_learning"]
    with writing(tmp_path / "outcome", kind="outcome", overwrite=True) as place:
        place.json("cell.json", outcome.cell.as_dict())
        place.json("result.json", older)
        for name in ("top", "counts", "augmented_counts"):
            place.array(name, getattr(outcome, name))
    assert load_outcome(tmp_path).stopped_learning is None


def test_a_study_counts_the_cells_it_lists_under_the_names_it_gives_them(kept):
    _, folder = kept
    study = folder.parent.parent
    renamed = replace(CELL, dataset="other", augmentation="mine")
    list_cells(study, [("missing", CELL), ("key", renamed), ("key", CELL)])
    assert [found.cell for found in outcomes_of(study)] == [renamed, CELL]
    list_cells(study, [("missing", CELL)])
    assert outcomes_of(study) == []


def test_a_folder_that_is_no_study_is_said_so(tmp_path):
    with pytest.raises(InputError, match="found no study, expected a folder that `tailwright study` wrote"):
        outcomes_of(tmp_path)
    for content in ("{", "[1]", '{"a": 1}', '[{"key": "a"}]', '[{"key": "a", "cell": {}}]'):
        (tmp_path / "cells.json").write_text(content)
        with pytest.raises(InputError):
            outcomes_of(tmp_path)


def test_a_hand_picked_run_is_an_outcome_too(tmp_path):
    corpus = tw.read(write_data(tmp_path / "data"))
    run = tw.train(corpus, "linear", augment=["gandalf"], settings={"trees": 1}, seed=2, out=tmp_path / "run")
    outcome = outcome_of_run(tmp_path / "run", corpus)
    assert outcome.metrics == tw.evaluate(run, corpus.test)
    assert outcome.cell.title == "data / linear / gandalf / 1 / seed 2"
    assert (outcome.n_train, outcome.n_augmented) == (len(corpus.train), len(corpus.labels))
    assert np.array_equal(outcome.counts, corpus.labels.counts)
    assert outcome.train_seconds > 0
    assert outcome.peak_rss_mb > 0
    assert outcome.cell.settings["trees"] == 1
    assert outcome.cell.augment_settings["gandalf"]["soft"] is True
    assert np.array_equal(outcome.augmented_counts, run.augmented_counts)
    assert outcome.augmented_counts.sum() > outcome.counts.sum()


def test_a_hand_picked_run_says_its_share_of_the_training_rows(tmp_path):
    corpus = tw.read(write_data(tmp_path / "data"))
    tw.train(corpus.sample(0.5), "popularity", out=tmp_path / "run")
    assert outcome_of_run(tmp_path / "run", corpus).cell.fraction == 0.5


def test_a_run_over_other_labels_or_without_test_rows_is_refused(tmp_path):
    corpus = toy_corpus()
    tw.train(corpus, "popularity", out=tmp_path / "run")
    assert outcome_of_run(tmp_path / "run", corpus).cell.augmentation == "none"
    with pytest.raises(InputError, match="found no test rows"):
        outcome_of_run(tmp_path / "run", Corpus(corpus.train, corpus.labels))
    other = replace(corpus.labels, ids=[f"x{i}" for i in range(len(corpus.labels))])
    with pytest.raises(InputError, match=r"found 11 labels, expected the 11 labels of .*run"):
        outcome_of_run(tmp_path / "run", Corpus(corpus.train, other, test=corpus.test))


def event(time: float, what: str, **facts) -> dict:
    return {"time": time, "event": what, **facts}


def test_the_time_of_a_training_leaves_out_the_gap_after_a_kill_and_what_watching_took():
    log = [
        event(100.0, "start", phase="gandalf"),
        event(101.0, "end", phase="gandalf", seconds=1.0, peak_rss_mb=50.0),
        event(101.0, "start", phase="fit"),
        event(105.0, "epoch", watch_seconds=0.5),
        event(900.0, "start", phase="gandalf"),
        event(900.5, "end", phase="gandalf", seconds=0.5, peak_rss_mb=70.0),
        event(900.5, "start", phase="fit"),
        event(904.0, "end", phase="fit", seconds=3.5, peak_rss_mb=60.0),
        event(904.0, "shared", spared_seconds=2.0),
    ]
    assert seconds_in(log) == 5.0 + 4.0 + 2.0 - 0.5
    assert peak_in(log) == 70.0
    assert (seconds_in([]), peak_in([])) == (0.0, 0.0)


def test_a_line_that_a_kill_cut_short_is_left_out_of_a_log(tmp_path):
    whole = [event(1.0, "start", phase="fit"), event(2.0, "end", phase="fit")]
    lines = [json.dumps(whole[0]), json.dumps(whole[1])[:9], json.dumps(whole[1]), "3", ""]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    assert read_log(tmp_path / "log.jsonl") == whole
    assert read_log(tmp_path / "nothing.jsonl") == []
