"""The quality of new rows as a whole: which rows, which examples, the page, the command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from augmented_rows import augmented
from html_reading import Reading

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.errors import InputError
from tailwright.study.quality.examples import DRAWN, LEAST, MOST
from tailwright.study.quality.figures import quality_of
from tailwright.study.quality.page import quality_page

NASTY = "<script>alert('x')</script> & \"quoted\" \x00 日本語 🎉"


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """The tiny corpus with rows of two methods, one word changed in each."""
    plain = tiny_corpus()
    texts = plain.train.texts.to_pylist()[:30]
    labels = [plain.train.targets[[i]].indices.tolist() for i in range(30)]
    names = plain.labels.names.to_pylist()
    one, two = (
        augmented(
            texts,
            [(f"{word} {' '.join(text.split()[1:])}", i) for i, text in enumerate(texts[:rows])],
            method=method,
            labels=labels,
            names=names,
        )
        for method, word, rows in (("one", "other", 30), ("two", "another", 10))
    )
    return one.with_train(Dataset.concat([one.train, two.train.take(range(30, 40))]))


@pytest.fixture(scope="module")
def folder(corpus, tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("data") / "more"
    tw.write(corpus, target, format="jsonl")
    return target


def test_every_method_has_its_own_figures(corpus):
    found = quality_of(corpus)
    assert [(of.method, of.rows, of.sources.texts) for of in found.methods] == [
        ("one", 30, 30),
        ("two", 10, 10),
    ]
    assert [round(of.share, 2) for of in found.methods] == [42.86, 14.29]
    assert (found.original_rows, found.training_rows) == (30, 70)
    assert [of.method for of in quality_of(corpus, method="two").methods] == ["two"]


def test_a_corpus_without_new_rows_says_which_formats_would_have_them():
    with pytest.raises(
        InputError, match=r"found no training rows that an augmentation made.*jsonl, csv, tsv"
    ):
        quality_of(tiny_corpus())


def test_label_texts_as_rows_have_no_source():
    more = tw.augment(tiny_corpus(), "gandalf")
    (found,) = quality_of(more).methods
    assert (found.rows, found.without_source, found.sources) == (11, 11, None)


def test_a_sampled_corpus_finds_sources_by_their_number():
    corpus = augmented(["a b", "c d", "e f"], [("c x", 1), ("a x", 0)])
    sampled = corpus.with_train(corpus.train.take([4, 1, 3, 2]))
    (found,) = quality_of(sampled).methods
    assert (found.without_source, found.pairs.pairs) == (1, 1)
    assert {(e.source, e.new) for e in found.examples} == {("c d", "c x"), (None, "a x")}


def test_examples_are_rare_labels_and_both_extremes():
    originals = [f"a b c d{i}" for i in range(60)] + ["rare one here"]
    new = [(f"a b c x{i}", i) for i in range(60)]
    new[7], new[9] = ("nothing alike", 7), (originals[9], 9)
    new.append(("rare two here", 60))
    labels = [[0] for _ in range(60)] + [[1, 0]]
    corpus = augmented(originals, new, labels=labels)
    shown = quality_of(corpus, count=3).methods[0].examples
    assert [(example.kind, example.new) for example in shown] == [
        (DRAWN, "rare two here"),
        (LEAST, "nothing alike"),
        (MOST, originals[9]),
    ]
    assert [(label.name, label.rows) for label in shown[0].labels] == [("y", 1), ("x", 61)]
    assert shown[2].similarity == 1
    assert quality_of(corpus, count=0).methods[0].examples == ()
    many = quality_of(corpus, count=1000).methods[0].examples
    assert sorted(example.new for example in many) == sorted(text for text, _ in new)


def test_examples_are_drawn_by_the_seed():
    originals = [f"a b c d{i}" for i in range(60)]
    corpus = augmented(originals, [(f"a b c x{i}", i) for i in range(60)])
    first, again, other = (quality_of(corpus, seed=seed).methods[0].examples for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_the_page_is_whole_and_asks_for_nothing(corpus):
    content = quality_page(quality_of(corpus), "a <corpus>", "tailwright quality x")
    reading = Reading(content)
    assert reading.wrong == []
    assert not re.search(r"(src|href)\s*=|url\(|@import", content)
    assert reading.count("article") == 18
    assert reading.of("h1") == ["Quality of new rows: a <corpus>"]
    assert {"one: texts", "one: examples", "two: texts"} <= set(reading.of("h2"))


def test_texts_and_names_are_text_whatever_is_in_them():
    corpus = augmented([NASTY, ""], [(NASTY + " more", 0), ("", 1)], names=(NASTY, "y", "z"), method="<i>")
    reading = Reading(quality_page(quality_of(corpus), "x", "x"))
    assert reading.wrong == []
    assert reading.count("i") == 0
    assert any("<script>alert('x')</script>" in text for text in reading.of("p"))
    assert "more" in reading.of("ins")


def test_an_odd_corpus_makes_a_page():
    empty = augmented([""], [("", 0), ("", 5)])
    assert Reading(quality_page(quality_of(empty), "x", "x")).wrong == []


def test_the_command_writes_the_page_and_one_line_of_json(folder, tmp_path, capsys):
    page = tmp_path / "q.html"
    assert run(["quality", str(folder), "--out", str(page), "--examples", "2", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    result = json.loads(line)
    assert [of["method"] for of in result["methods"]] == ["one", "two"]
    assert len(result["methods"][0]["examples"]) == 2
    assert result["methods"][0]["pairs"]["copied"]["1"] == pytest.approx(
        quality_of(tw.read(folder)).methods[0].pairs.copied[1]
    )
    assert Reading(page.read_text()).wrong == []


def test_the_command_shows_figures_drift_and_examples(folder, tmp_path, capsys):
    trained = tmp_path / "run"
    arguments = ["train", str(folder), "--out", str(trained), "--model", "label-matcher", "--augment", "none"]
    assert run([*arguments, "-q"]) == 0
    capsys.readouterr()
    page = tmp_path / "q.html"
    assert run(["quality", str(folder), "--method", "two", "--run", str(trained), "--out", str(page)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("two: 10 new rows, 14.3 % of the training rows, made of 10 sources.")
    assert "The model was trained on these sources, which flatters the sources." in out
    assert "It was trained on new rows of this method too" in out
    assert re.search(r"all: new rows +\d", out)
    assert "  new row  another " in out
    assert "(right)" in out
    reading = Reading(page.read_text())
    assert reading.wrong == []
    assert "two: label drift" in reading.of("h2")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--method", "tow"], "unknown method 'tow'; did you mean 'two'?"),
        (["--run", "nowhere"], "nowhere"),
        (["--examples", "-1"], "Invalid value for '--examples'"),
    ],
)
def test_what_is_asked_wrongly_is_one_line_and_exit_code_2(folder, tmp_path, capsys, arguments, line):
    assert run(["quality", str(folder), "--out", str(tmp_path / "q.html"), *arguments]) == 2
    err = capsys.readouterr().err
    assert line in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "q.html").exists()


@pytest.mark.parametrize("target", ["jsonl", "csv", "tsv", "parquet", "fasttext", "xc"])
def test_formats_carry_the_origin_or_it_is_said(corpus, tmp_path, capsys, target):
    tw.write(corpus, tmp_path / "more", format=target)
    carried = target in {"jsonl", "csv", "tsv", "parquet"}
    code = run(["quality", str(tmp_path / "more"), "--out", str(tmp_path / "q.html"), "-q"])
    said = capsys.readouterr()
    assert code == (0 if carried else 2)
    assert ("one: 30 new rows" in said.out) == carried
    assert ("other formats do not say where a row came from" in said.err) != carried
