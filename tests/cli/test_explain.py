"""`tailwright explain`: text that fits the terminal, one line of JSON, a page."""

from __future__ import annotations

import json
import shlex
import sys

import pytest
from html_reading import Reading

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.cli.explain import wrapped
from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.models.shared.reasons import Reasons, WordShare
from tailwright.runs.explained_text import SHOWN, Segment, details, line, marked_text
from tailwright.runs.explaining import ExplainedLabel

TEXT = "Old apple, zzyzx bridge part1"
HOSTILE = "<script>alert(1)</script> things"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("explain")
    corpus = tiny_corpus()
    texts = arrow_strings([HOSTILE, *corpus.labels.texts.to_pylist()[1:]])
    labels = LabelSpace(corpus.labels.ids, corpus.labels.names, texts)
    tw.write(Corpus(corpus.train, labels), place / "data", format="jsonl")
    tw.train(tw.read(place / "data"), "linear", settings={"trees": 1}, out=place / "run")
    return place


def test_people_read_words_and_rows_in_lines_that_fit(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert run(["explain", str(folder / "run"), TEXT, "--k", "2"]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 60
    assert printed.startswith(f"{TEXT}\n")
    assert "\napple things (id 0): place 1, probability " in printed
    assert "  unknown: zzyzx\n" in printed
    assert "nearest training rows with this label" in printed
    assert "\x1b" not in printed


def test_a_terminal_shows_the_words_marked(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert run(["explain", str(folder / "run"), TEXT, "--label", "bridge things", "--rows", "0"]) == 0
    assert "\x1b[1;32mbridge\x1b[0m" in capsys.readouterr().out


def test_json_is_one_line_with_everything(folder, capsys):
    asked = ["--label", "0", "--label", "zeppelin things", "--tail", "0.5", "--rows", "1", "--json"]
    assert run(["explain", str(folder / "run"), TEXT, *asked]) == 0
    (printed,) = capsys.readouterr().out.splitlines()
    told = json.loads(printed)
    assert set(told) == {"run", "text", "model", "k", "tail", "labels", "nearest_by", "notes"}
    assert (told["text"], told["model"], told["tail"]) == (TEXT, "linear", 0.5)
    apple, zeppelin = told["labels"]
    assert set(apple) == {
        *("id", "name", "text", "training_rows", "rank", "score", "probability", "reasons", "rows")
    }
    assert (apple["id"], zeppelin["rank"]) == ("0", None)
    reasons = apple["reasons"]
    total = reasons["bias"] + sum(share["value"] for share in reasons["words"])
    assert total == pytest.approx(reasons["paths"][0][-1]["margin"])
    assert {share["word"] for share in reasons["words"] if share["known_by"] == "nothing"} == {"zzyzx"}
    assert [set(row) for row in apple["rows"]] == [{"text", "cosine", "target", "id", "made_by"}]


def test_the_page_holds_hostile_label_texts_as_texts(folder, capsys):
    page = folder / "why.html"
    assert run(["explain", str(folder / "run"), f"{HOSTILE} apple", "--label", "0", "--out", str(page)]) == 0
    suggested = shlex.join(["tailwright", "predict", str(folder / "run"), f"{HOSTILE} apple"])
    assert capsys.readouterr().err.endswith(f"wrote {page}\nnext: {suggested}\n")
    written = page.read_text(encoding="utf-8")
    read = Reading(written)
    assert read.wrong == []
    assert f"its text: {HOSTILE}" in read.of("span")
    assert read.of("h1") == [f"Why: {HOSTILE} apple"]
    assert "apple" in read.of("mark")
    assert read.of("code")[0].startswith("tailwright explain ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{run}"], "found 0 texts, expected RUN and one TEXT, in quotes"),
        (["{run}", "red", "shoes"], "found 2 texts, expected RUN and one TEXT, in quotes"),
        (["{run}", "{run}", "red"], "found 2 runs, expected one: each run of several has its own reasons"),
        (
            ["{run}", "red", "--label", "bridge thing"],
            "no label has the id or name 'bridge thing'; did you mean 'bridge things'?",
        ),
        (["{run}", "red", "--tail", "2"], "--tail 2.0, expected a number from 0 to 1, or auto"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(folder, capsys, tmp_path, arguments, said):
    page = tmp_path / "why.html"
    words = [word.format(run=folder / "run") for word in arguments]
    assert run(["explain", *words, "--out", str(page)]) == 2
    assert capsys.readouterr() == ("", f"tailwright: {said}\n")
    assert not page.exists()


def test_more_words_than_are_listed_are_counted():
    sides = [("plus", 1.0), ("minus", -1.0), ("still", 0.0)]
    words = [WordShare(f"{side}{i}", value) for side, value in sides for i in range(SHOWN + 2)]
    words += [WordShare(f"new{i}", 0.0, "nothing") for i in range(SHOWN)]
    label = ExplainedLabel("7", "hats", "", 0, None, None, None, Reasons("score", tuple(words), exact=True))
    listed = ["".join(segment.text for segment in one.segments) for one in details(label, "")]
    assert [(said.split(":")[0], "more" in said) for said in listed] == [
        ("for", True),
        ("against", True),
        ("neutral", True),
        ("unknown", False),
        ("together", False),
    ]
    assert listed[0].endswith("plus7 +1.00, and 2 more")
    assert listed[2].endswith("still7 and 2 more")


def test_long_lines_go_on_to_the_right():
    assert wrapped([line(2, "one two three", Segment(" four", "for"))], 12, styled=False) == (
        "  one two\n    three\n    four"
    )
    assert wrapped([line(0, "a\rb\x1b[2J\tc")], 80, styled=False) == "a b\N{REPLACEMENT CHARACTER}[2J c"


def test_marks_are_as_strong_as_words_are_against_each_other():
    words = [WordShare("red", 2.0), WordShare("hat", -1.0), WordShare("xyz", 0.0, "nothing")]
    assert marked_text("RED hat\n xyz, a", words) == (
        ("RED", "for", 1.0),
        (" ", "plain", 0.0),
        ("hat", "against", 0.5),
        ("  ", "plain", 0.0),
        ("xyz", "unknown", 0.0),
        (", ", "plain", 0.0),
        ("a", "plain", 0.0),
    )
