"""What cells are judged on, and where it is read from."""

from __future__ import annotations

from dataclasses import replace

import pytest
from toy_study import toy_corpus, write_data

import tailwright as tw
from tailwright.data import Corpus
from tailwright.errors import InputError
from tailwright.study.plan.cells import Cell
from tailwright.study.run import exam as module
from tailwright.study.run.exam import Exam, exam_of, read_source


def test_the_data_of_a_cell_are_read_once_in_a_process(tmp_path, monkeypatch):
    folder = write_data(tmp_path / "data")
    read, seen = module.read, []
    monkeypatch.setattr(module, "read", lambda path: seen.append(path) or read(path))
    first = exam_of(Cell("a", str(folder), "linear"))
    second = exam_of(Cell("b", str(folder), "twin", seed=1))
    assert seen == [str(folder)]
    assert (first.name, second.name) == ("a", "b")
    assert first.corpus is second.corpus
    assert first.test.texts.equals(toy_corpus().test.texts)
    assert first.labels is first.corpus.labels


@pytest.mark.parametrize("test", [None, toy_corpus().test.take([])])
def test_a_corpus_without_test_rows_is_no_exam(test):
    corpus = toy_corpus()
    with pytest.raises(InputError, match="here: found no test rows, expected test rows to judge by"):
        _ = Exam("x", Corpus(corpus.train, corpus.labels, test=test, source="here")).test


def test_the_demo_corpus_goes_by_its_name(monkeypatch):
    asked = []
    monkeypatch.setattr(module, "demo_corpus", lambda size: asked.append(size) or toy_corpus())
    assert read_source("demo").source == "demo"
    assert read_source("demo:500").source == "demo:500"
    assert asked == [None, 500]
    with pytest.raises(InputError, match="found 'demo:many', expected demo, or demo:ROWS"):
        read_source("demo:many")


def test_a_corpus_says_where_it_was_read_from(tmp_path, monkeypatch):
    folder = write_data(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    corpus = tw.read("data")
    assert corpus.source == str(folder)
    assert corpus.split(0.1).sample(0.5).source == str(folder)
    assert tw.read(folder / "train.jsonl").source == str(folder / "train.jsonl")
    assert toy_corpus().source == ""


def test_the_place_of_a_corpus_is_no_part_of_it(tmp_path):
    corpus = tw.read(write_data(tmp_path / "data"))
    moved = replace(corpus, source="elsewhere")
    assert moved.same_as(corpus)
    assert moved.digest() == corpus.digest()


def test_a_run_knows_where_its_data_were(tmp_path):
    folder = write_data(tmp_path / "data")
    tw.train(tw.read(folder), "popularity", out=tmp_path / "run")
    assert tw.load(tmp_path / "run").data.path == str(folder)
    assert tw.train(toy_corpus(), "popularity").data.path == ""
