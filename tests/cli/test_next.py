"""The command that each command suggests next: it works as it is printed."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from ranked_outcomes import exam, outcome

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.cli.study import _train_best
from tailwright.data import Corpus

QUICK = ["--model", "linear", "--set", "trees=1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A corpus, a table with columns of its own, and two runs on the corpus."""
    place = tmp_path_factory.mktemp("next")
    corpus = tiny_corpus()
    train, test = corpus.train.split(0.25)
    corpus = Corpus(train, corpus.labels, test=test)
    tw.write(corpus, place / "my data", format="jsonl")
    rows = ["what;kinds", *(f"{text};a" for text in ("red shoes", "straw hat", "felt hat"))]
    (place / "table.csv").write_text("\n".join(rows))
    read = tw.read(place / "my data")
    tw.write(tw.augment(read, "gandalf"), place / "made", format="jsonl")
    (place / "new.csv").write_text("id,text\nbags,big bags\n")
    tw.train(read, "label-matcher", augment=[], out=place / "matcher")
    for name in ("one", "two"):
        tw.train(read, "linear", augment=[], settings={"trees": 1}, out=place / name)
    return place


def suggested(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """The words that the command suggests in its last line on stderr."""
    capsys.readouterr()
    assert run(list(words)) == 0
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("next: tailwright ")
    return shlex.split(last.removeprefix("next: tailwright "))


@pytest.mark.parametrize(
    ("command", "next_one"),
    [
        (["data", "inspect", "my data"], ["train", "my data", "--out", "run"]),
        (
            ["data", "inspect", "table.csv", "--text", "what", "--labels", "kinds", "--seed", "3"],
            ["train", "table.csv", "--text", "what", "--labels", "kinds", "--seed", "3", "--out", "run"],
        ),
        (["data", "convert", "my data", "as-xc", "--format", "xc"], ["data", "inspect", "as-xc"]),
        (
            ["augment", "my data", "--augment", "gandalf", "--out", "more"],
            ["train", "more", "--augment", "none", "--out", "run"],
        ),
        (
            [
                "augment",
                "my data",
                "--method",
                "gandalf",
                "--dry-run",
                "--mask",
                "tail_below=3",
                "--format",
                "csv",
            ],
            [
                *["augment", "my data", "--augment", "gandalf", "--augment", "mask"],
                *["--set", "mask.tail_below=3", "--format", "csv", "--out", "augmented"],
            ],
        ),
        (["quality", "made", "--out", "q.html"], ["train", "made", "--augment", "none", "--out", "run"]),
        (["train", "my data", "--out", "three", *QUICK], ["predict", "three", ...]),
        (["evaluate", "one", "my data"], ["tail", "one", "my data"]),
        (["evaluate", "one", "two", "my data"], ["tail", "one", "two", "my data"]),
        (["tail", "one", "my data"], [...]),
        (["predict", "one", "it's red"], ["predict", "one", "it's red", "--tail", "0.5"]),
        (["predict", "one", "it's red", "--tail", "0.5"], ["explain", "one", "it's red"]),
        (["predict", "one", "it's red", "--out", "said.csv"], ["data", "inspect", "said.csv"]),
        (["explain", "one", "it's red"], ["explain", "one", "it's red", "--out", "why.html"]),
        (["explain", "one", "it's red", "--out", "because.html"], ["predict", "one", "it's red"]),
        (["labels", "add", "matcher", "new.csv", "--out", "matcher2"], ["predict", "matcher2", "big bags"]),
        (["compare", "one", "two"], ["report", "one", "two", "--out", "report.html"]),
        (["report", "one", "--out", "r.html"], ["predict", "one", ...]),
        (["graph", "my data", "--out", "g.npz"], ["graph", "my data", ...]),
        (["models"], ["models", "linear"]),
        (["models", "linear"], ["augmenters"]),
        (["augmenters"], ["augmenters", "eda"]),
        (["augmenters", "eda"], ["augment", "--help"]),
    ],
    ids=lambda words: " ".join(str(word) for word in words),
)
def test_the_suggested_command_works_as_printed(folder, monkeypatch, capsys, command, next_one):
    monkeypatch.chdir(folder)
    words = suggested(capsys, *command)
    if next_one[-1] is ...:
        assert words[: len(next_one) - 1] == next_one[:-1]
    else:
        assert words == next_one
    quick = QUICK if words[0] == "train" else []
    assert run([*words, *quick]) == 0
    if "run" in words and words[0] == "train":
        (folder / "run").rename(folder / f"run of {len(list(folder.iterdir()))}")


def test_a_study_that_was_only_listed_suggests_to_run_it(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    plan = ["seeds = [0]", "[datasets]", 'mine = "my data"', "[models.popularity]", "[augmentations.none]"]
    Path("plan.toml").write_text("\n".join(plan))
    assert suggested(capsys, "study", "plan.toml", "--out", "s", "--dry-run") == [
        "study",
        "plan.toml",
        "--out",
        "s",
    ]


def test_a_finished_study_suggests_to_train_its_best_cell(folder, monkeypatch):
    monkeypatch.chdir(folder)
    toy = exam()
    worse = outcome(toy, 0.2, model="popularity")
    best = outcome(toy, 0.9, model="linear", augmentation="gandalf", settings={"trees": 1})
    soft = replace(best.cell, path="my data", augment_settings={"gandalf": {"soft": False}})
    found = [worse, replace(best, cell=soft)]
    monkeypatch.setattr("tailwright.study.run.outcomes.outcomes_of", lambda folder: found)
    words = _train_best(SimpleNamespace(folder=folder))
    settings = ["--set", "trees=1", "--set", "gandalf.soft=False"]
    assert words == [
        *["train", "my data", "--model", "linear", "--augment", "gandalf", *settings, "--out", "run"]
    ]
    assert run(words) == 0
    (folder / "run").rename(folder / "run of the study")
    unsayable = replace(best, cell=replace(soft, fraction=0.5))
    found[:] = [unsayable]
    assert _train_best(SimpleNamespace(folder=folder)) == []


def test_a_name_that_is_taken_is_not_suggested(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for name in ("run", "run-2"):
        Path(name).mkdir()
    assert suggested(capsys, "data", "inspect", "my data")[-1] == "run-3"
    for name in ("run", "run-2"):
        Path(name).rmdir()


@pytest.mark.parametrize("flag", ["--quiet", "--json"])
def test_quiet_and_json_suggest_nothing(folder, monkeypatch, capsys, flag):
    monkeypatch.chdir(folder)
    assert run(["data", "inspect", "my data", flag]) == 0
    assert "next:" not in capsys.readouterr().err


def test_standard_input_cannot_be_read_again_so_nothing_is_suggested(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    with (folder / "my data" / "train.jsonl").open() as lines:
        monkeypatch.setattr("sys.stdin", lines)
        assert run(["data", "inspect", "-"]) == 0
    assert "next:" not in capsys.readouterr().err
