"""`predict` as a user meets it: tables in and out, chosen labels, thresholds, texts that get no labels."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet
import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.data import Corpus


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A calibrated run, one that is not, one by rank, and a table with texts to label."""
    folder = tmp_path_factory.mktemp("predict")
    corpus = tiny_corpus()
    train, valid = corpus.train.split(0.5)
    settings = {"trees": 1}
    tw.train(Corpus(train, corpus.labels, valid=valid), "linear", settings=settings, out=folder / "run")
    tw.train(Corpus(train, corpus.labels), "linear", settings=settings, out=folder / "plain")
    tw.train(corpus, "label-matcher", out=folder / "rank")
    (folder / "new.csv").write_text("sku;title;price\nA-1;guitar;3\nA-2;zzyzx;4\nA-3;apple bridge;5\n")
    return folder


def last_json(capsys) -> dict:
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_a_table_becomes_a_table_that_can_be_read_as_a_corpus(place, tmp_path, capsys):
    table = ["--input", str(place / "new.csv"), "--text", "title", "--id", "sku", "--k", "2"]
    out = tmp_path / "said.csv"
    assert run(["predict", str(place / "run"), "harbour", *table, "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"wrote {out}: 4 texts, 3 with labels\n"
    assert printed.err == f"text = title; id = sku\nnext: tailwright data inspect {out}\n"
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [(row["id"], row["text"]) for row in rows] == [
        ("", "harbour"),
        ("A-1", "guitar"),
        ("A-2", "zzyzx"),
        ("A-3", "apple bridge"),
    ]
    assert rows[1]["names"].split("|")[0] == "guitar things"
    said = tw.load(place / "run").predict([row["text"] for row in rows], k=2)
    assert [row["labels"].split("|") if row["labels"] else [] for row in rows] == said.ids
    corpus = tw.read(out)
    assert sum(map(len, corpus.splits().values())) == 4
    assert run(["predict", str(place / "run"), *table, "--out", str(out)]) == 2
    assert "said.csv: exists already, expected a new file, or --overwrite" in capsys.readouterr().err
    assert run(["predict", str(place / "run"), *table, "--out", str(out), "--overwrite", "--json"]) == 0
    result = last_json(capsys)
    assert (result["texts"], result["labelled"], result["calibrated"]) == (3, 2, True)
    assert "predictions" not in result


def test_abstentions_are_said_in_every_output(place, tmp_path, capsys):
    texts = ["guitar", "old", "zzyzx"]
    asked = ["predict", str(place / "run"), *texts, "--k", "1"]
    assert run([*asked, "--abstain"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["zzyzx", "  abstained"]
    assert run([*asked, "--json", "--abstain", "0.9"]) == 0
    assert [row["abstained"] for row in last_json(capsys)["predictions"]] == [False, True, True]
    out = tmp_path / "said.parquet"
    assert run([*asked, "--abstain", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"wrote {out}: 3 texts, 2 with labels, 1 abstained\n"
    assert pyarrow.parquet.read_table(out)["abstained"].to_pylist() == [False, False, True]
    assert run([*asked, "--json"]) == 0
    assert "abstained" not in last_json(capsys)["predictions"][0]


def test_labels_can_be_chosen(place, tmp_path, capsys):
    asked = ["predict", str(place / "run"), "guitar apple", "--k", "3", "--json"]
    assert run([*asked, "--only", "bridge things,9"]) == 0
    only = last_json(capsys)["predictions"][0]["ids"]
    assert set(only) == {"1", "9"}
    (tmp_path / "some.txt").write_text("guitar things\n0\n")
    assert run([*asked, "--not", str(tmp_path / "some.txt"), "--not", "1"]) == 0
    found = last_json(capsys)["predictions"][0]["ids"]
    assert len(found) == 3
    assert not {"6", "0", "1"} & set(found)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["--only", "guitar thing"],
            "no label has the id or name 'guitar thing'; did you mean 'guitar things'?",
        ),
        (["--threshold", "0.5", "RANK"], "--threshold with label-matcher, whose scores are no probabilities"),
        (["--threshold", "1.5"], "--threshold 1.5, expected a number from 0 to 1"),
        (["--abstain", "7"], "--abstain 7.0, expected a number from 0 to 1"),
        (["--out", "said.doc"], "said.doc: the suffix '.doc', expected one of .csv, .tsv"),
        (["--out", "gone/said.csv"], "gone/said.csv: cannot be written (No such file or directory)"),
        (["--overwrite"], "--overwrite without a file, expected --out FILE"),
        (["--id", "sku"], "--text or --id without a table, expected --input FILE"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(
    place, tmp_path, monkeypatch, capsys, arguments, line
):
    monkeypatch.chdir(tmp_path)
    folder = "rank" if "RANK" in arguments else "run"
    options = [argument for argument in arguments if argument != "RANK"]
    assert run(["predict", str(place / folder), "guitar", *options]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert line in printed.err
    assert list(tmp_path.iterdir()) == []


def test_probabilities_that_are_not_calibrated_are_said_to_be_so_once_where_they_count(
    place, tmp_path, capsys
):
    asked = ["predict", str(place / "plain"), "guitar"]
    note = "linear was trained without held-out rows (a valid split): its probabilities are not calibrated\n"
    for options in (["--threshold", "0.1"], ["--abstain", "0.1"], ["--out", str(tmp_path / "said.jsonl")]):
        assert run([*asked, *options]) == 0
        said = capsys.readouterr().err.splitlines(keepends=True)
        assert [line for line in said if not line.startswith("next: ")] == [note]
    assert run(["predict", str(place / "plain"), "guitar", "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert json.loads(printed.out)["calibrated"] is False


def test_a_table_on_standard_input_needs_its_columns_named(place, capsys, monkeypatch):
    content = (place / "new.csv").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert run(["predict", str(place / "run"), "--input", "-", "--text", "title", "--k", "1", "--json"]) == 0
    assert [row["text"] for row in last_json(capsys)["predictions"]] == ["guitar", "zzyzx", "apple bridge"]
