"""`tailwright compare` and what it rests on: figures that are the runs' metrics, and errors of one line."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ranked_outcomes import exam, outcome

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.data import Corpus
from tailwright.data.corpus import LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.study.compare.two_runs import compare_outcomes

EXAM = exam()


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    corpus = tiny_corpus()
    train, test = corpus.train.split(0.25)
    folder = tmp_path_factory.mktemp("data") / "tiny"
    tw.write(Corpus(train, corpus.labels, test=test), folder, format="jsonl")
    return folder


@pytest.fixture(scope="module")
def runs(data, tmp_path_factory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    for model in ("popularity", "label-matcher"):
        tw.train(tw.read(data), model, out=folder / model)
    return str(folder / "popularity"), str(folder / "label-matcher")


def test_differences_are_those_of_the_metrics_of_both_runs(data, runs, capsys):
    assert run(["compare", *runs, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    before, after = (tw.evaluate(tw.load(folder), tw.read(data).test) for folder in runs)
    assert (result["runs"], result["test_rows"], result["same_rows"]) == (list(runs), 30, True)
    for metric in ("P@1", "P@5", "PSP@5", "R@10"):
        found = result["differences"]["all"][metric]
        assert found["mean"] == pytest.approx(after[metric] - before[metric])
        assert found["low"] <= found["mean"] <= found["high"]
        for name in ("torso", "tail"):
            expected = after["slices"][name][metric] - before["slices"][name][metric]
            assert result["differences"][name][metric]["mean"] == pytest.approx(expected)
    assert result["differences"]["all"]["P@1"]["verdict"] == "better"


def test_what_is_printed_names_slices_verdicts_and_labels(runs, capsys):
    assert run(["compare", *runs]) == 0
    printed = capsys.readouterr().out
    assert f"{runs[1]} against {runs[0]}, in points of percent on 30 test rows of " in printed
    assert printed.count("better\n") >= 1
    assert "Labels that gained most, by how often they are found among the first 5:" in printed
    assert "things" in printed
    assert run(["compare", runs[0], runs[0]]) == 0
    same = capsys.readouterr().out
    assert "better" not in same
    assert "No label gained." in same
    assert "No label lost." in same


def test_labels_that_changed_have_their_counts():
    before = outcome(EXAM, np.where(np.arange(30) == 3, 0.0, 0.6))
    after = outcome(EXAM, np.where(np.arange(30) == 7, 0.0, 0.6), augmentation="gandalf")
    found = compare_outcomes(before, after, EXAM.corpus, draws=50)
    truth = (EXAM.test.targets.toarray() > 0)[:, 3]
    hits = [(truth & (one.top[:, :5] == 3).any(axis=1)).sum() for one in (before, after)]
    first = found.gained[0]
    assert (first.id, first.name, first.train_rows) == ("3", "label 3", EXAM.labels.counts[3])
    assert (first.before, first.after, first.there) == (*hits, truth.sum())
    assert found.lost[0].id == "7"
    assert len(found.gained) <= 10


def test_runs_of_other_training_rows_are_weighed_by_the_first():
    before = outcome(EXAM, 0.4)
    after = replace(outcome(EXAM, 0.6, augmentation="gandalf"), counts=EXAM.labels.counts // 2, n_train=200)
    found = compare_outcomes(before, after, EXAM.corpus, draws=50)
    assert not found.same_rows
    same = compare_outcomes(before, replace(after, counts=before.counts, n_train=400), EXAM.corpus, draws=50)
    assert found.differences == same.differences


def test_a_long_label_name_does_not_break_the_table(data, tmp_path, capsys):
    corpus = tw.read(data)
    names = arrow_strings([f"{name} {'x' * 500}" for name in corpus.labels.names.to_pylist()])
    long = replace(corpus, labels=replace(corpus.labels, names=names))
    tw.write(long, tmp_path / "long", format="jsonl")
    for model in ("popularity", "label-matcher"):
        tw.train(tw.read(tmp_path / "long"), model, out=tmp_path / model)
    assert run(["compare", str(tmp_path / "popularity"), str(tmp_path / "label-matcher"), "-q"]) == 0
    table = capsys.readouterr().out.split("Labels that gained most")[1]
    assert "x…" in table
    assert max(map(len, table.splitlines())) < 130


def error_of(capsys) -> str:
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    return line


def test_runs_on_other_data_are_refused_in_one_line(data, runs, tmp_path, capsys):
    shutil.copytree(data, tmp_path / "copy")
    tw.train(tw.read(tmp_path / "copy"), "popularity", out=tmp_path / "run")
    assert run(["compare", runs[0], str(tmp_path / "run"), "-q"]) == 2
    assert "expected runs on one corpus, or --data PATH" in error_of(capsys)
    assert run(["compare", runs[0], str(tmp_path / "run"), "--data", str(data), "-q"]) == 0


def test_a_run_that_does_not_say_its_data_needs_the_option(data, runs, tmp_path, capsys):
    tw.train(replace(tw.read(data), source=""), "popularity", out=tmp_path / "run")
    assert run(["compare", runs[0], str(tmp_path / "run"), "-q"]) == 2
    assert "does not say which data it was trained on, expected --data PATH" in error_of(capsys)


def test_runs_over_other_labels_are_refused_in_one_line(data, runs, tmp_path, capsys):
    corpus = tw.read(data)
    names = arrow_strings([f"other {i}" for i in range(len(corpus.labels))])
    tw.train(replace(corpus, labels=LabelSpace(names)), "popularity", out=tmp_path / "run")
    assert run(["compare", runs[0], str(tmp_path / "run"), "-q"]) == 2
    assert "labels" in error_of(capsys)


def test_a_corpus_without_test_rows_is_refused_in_one_line(data, runs, tmp_path, capsys):
    tw.write(replace(tw.read(data), test=None), tmp_path / "train-only", format="jsonl")
    assert run(["compare", *runs, "--data", str(tmp_path / "train-only"), "-q"]) == 2
    assert "found no test rows" in error_of(capsys)
