"""`--tail` and `tailwright tail` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.data import Corpus


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with the tiny corpus, a run that validation rows calibrated, one without, one by rank."""
    folder = tmp_path_factory.mktemp("tail")
    corpus = tiny_corpus()
    train, valid = corpus.train.split(0.5)
    tw.write(Corpus(train, corpus.labels, valid=valid, test=valid), folder / "data", format="jsonl")
    tw.write(Corpus(train, corpus.labels), folder / "bare", format="jsonl")
    data, settings = tw.read(folder / "data"), {"trees": 1}
    tw.train(data, "linear", settings=settings, out=folder / "run")
    tw.train(Corpus(data.train, data.labels), "linear", settings=settings, out=folder / "plain")
    tw.train(data, "popularity", out=folder / "rank")
    return folder


def last_json(capsys) -> dict:
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.mark.parametrize("value", ["2", "-0.5", "nan", "inf", "much", ""])
@pytest.mark.parametrize("command", ["predict", "evaluate", "compare", "report"])
def test_a_bad_tail_is_one_line_and_exit_code_2(place, capsys, command, value):
    arguments = {
        "predict": ["predict", str(place / "run"), "a text"],
        "evaluate": ["evaluate", str(place / "run"), str(place / "data")],
        "compare": ["compare", str(place / "run"), str(place / "plain"), "--data", str(place / "data")],
        "report": [
            "report",
            str(place / "run"),
            "--data",
            str(place / "data"),
            "--out",
            str(place / "r.html"),
        ],
    }[command]
    assert run([*arguments, f"--tail={value}"]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert "--tail" in said.err
    assert "expected a number from 0 to 1, or auto" in said.err
    assert said.out == ""
    assert not (place / "r.html").exists()


def test_predict_puts_the_same_labels_into_another_order(place, capsys):
    asked = ["predict", str(place / "run"), "red wool", "--k", "11", "--json"]
    answers = []
    for tail in ("0", "1"):
        assert run([*asked, "--tail", tail]) == 0
        answers.append(last_json(capsys))
    said = [answer["predictions"][0] for answer in answers]
    plain, rare = (dict(zip(one["ids"], one["scores"], strict=True)) for one in said)
    assert (answers[0]["tail"], answers[1]["tail"]) == (0, 1)
    assert plain == rare
    assert all(0 <= score <= 1 for score in plain.values())


def test_a_model_by_rank_is_refused_by_every_command(place, capsys):
    rank, data = str(place / "rank"), str(place / "data")
    for arguments in (
        ["predict", rank, "a text", "--tail", "0.5"],
        ["evaluate", rank, data, "--tail", "0.5"],
        ["compare", rank, rank, "--data", data, "--tail", "0.5"],
        ["tail", rank, data],
    ):
        assert run(arguments) == 2
        said = capsys.readouterr().err
        assert said == (
            "tailwright: --tail with popularity, whose scores are no probabilities, "
            "expected a model that gives probabilities or log-odds\n"
        )


def test_a_run_without_held_out_rows_has_no_auto_and_says_that_it_is_not_calibrated(place, capsys):
    assert run(["predict", str(place / "plain"), "a text", "--tail", "auto"]) == 2
    assert "linear was trained without held-out rows to choose it on" in capsys.readouterr().err
    assert run(["predict", str(place / "plain"), "a text", "--tail", "0.5"]) == 0
    assert "its probabilities are not calibrated, and --tail may" in capsys.readouterr().err
    assert run(["predict", str(place / "run"), "a text", "--tail", "0.5"]) == 0
    assert "calibrated" not in capsys.readouterr().err


def test_evaluate_takes_the_tail_that_the_run_recommends(place, capsys):
    recommended = tw.load(place / "run").tail.tail
    assert run(["evaluate", str(place / "run"), str(place / "data"), "--tail", "auto", "--json"]) == 0
    found = last_json(capsys)
    assert found["tail"] == recommended
    assert {"ECE@1", "ECE@5"} <= found["metrics"].keys()
    assert run(["evaluate", str(place / "run"), str(place / "data"), "--tail", "0.5"]) == 0
    said = capsys.readouterr().out
    assert "rows with --tail 0.5, in percent:" in said
    assert "ECE@5" in said


def test_the_trade_is_a_table_a_plot_and_json(place, capsys):
    plot = place / "trade.svg"
    arguments = ["tail", str(place / "run"), str(place / "data"), "--plot", str(plot)]
    assert run(arguments) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "linear on 60 valid rows, in percent:"
    assert said[1].split() == ["tail", "P@1", "P@5", "PSP@1", "PSP@5"]
    assert sum("recommended" in line for line in said) == 1
    assert plot.read_text().startswith("<svg")
    assert run([*arguments, "--split", "test", "--json"]) == 0
    found = last_json(capsys)
    assert {0, 0.1, 0.25, 0.5, 0.75, 1} <= {line["tail"] for line in found["trade"]}
    assert found["recommended"] in {line["tail"] for line in found["trade"]}
    assert found["split"] == "test"


def test_a_trade_needs_a_run_and_rows_that_it_has_not_learnt_from(place, capsys):
    assert run(["tail", str(place / "data")]) == 2
    assert "expected a run folder and a corpus" in capsys.readouterr().err
    assert run(["tail", str(place / "run"), str(place / "bare")]) == 2
    assert "found no valid rows to choose a tail on, expected valid or test rows" in capsys.readouterr().err
    assert run(["tail", str(place / "run"), str(place / "data"), "--split", "train"]) == 2
    assert "expected one of valid, test" in capsys.readouterr().err
    assert run(["tail", str(place / "run"), str(place / "data"), "--plot", "trade.png"]) == 2
    assert "expected .svg" in capsys.readouterr().err


def test_train_prints_the_tail_in_one_line_and_in_json(place, tmp_path, capsys):
    asked = ["train", str(place / "data"), "--model", "linear", "--augment", "none", "--set", "trees=1", "-q"]
    assert run([*asked, "--out", str(tmp_path / "one")]) == 0
    assert sum(line.startswith("for rare labels: ") for line in capsys.readouterr().out.splitlines()) == 1
    assert run([*asked, "--out", str(tmp_path / "two"), "--json"]) == 0
    assert last_json(capsys)["tail"]["tail"] == tw.load(tmp_path / "one").tail.tail


def test_compare_and_report_rank_with_the_tail(place, capsys):
    runs, data = [str(place / "run"), str(place / "plain")], ["--data", str(place / "data")]
    assert run(["compare", *runs, *data, "--tail", "0.5"]) == 0
    assert "with --tail 0.5:" in capsys.readouterr().out
    pytest.importorskip("plotly")
    page = place / "report.html"
    assert run(["report", str(place / "run"), *data, "--tail", "0.5", "--out", str(page), "--json"]) == 0
    assert "linear (tail 0.5)" in last_json(capsys)["titles"][0]
    assert "--tail 0.5" in page.read_text()
