"""`tailwright demo`: what it prints, the page it writes, and what it refuses before it starts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import pytest
from html_reading import Reading
from scripts import start_command, start_script

import tailwright as tw
from tailwright.cli import demo_story, run
from tailwright.cli.demo import NEXT

SIZE = 400
NAMES = ["popularity", "label-matcher", "linear", "linear with gandalf", "default"]
TAILS = ["0", "0.5", "1"]  # too few rows are held out of so few to recommend another


@dataclass(frozen=True)
class Told:
    """One run of the demo: what it printed for people, its last line, its page."""

    printed: str
    result: dict
    page: str


@pytest.fixture
def shared_cache(demo_cache, monkeypatch) -> None:
    monkeypatch.setenv("TAILWRIGHT_CACHE", str(demo_cache))


@pytest.fixture(scope="module")
def told(demo_cache, tmp_path_factory) -> Told:
    folder = tmp_path_factory.mktemp("demo")
    asked = ("demo", "--size", SIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("TAILWRIGHT_CACHE", str(demo_cache))
        people = start_command(*asked, "--quiet")
        printed, errors = people.communicate()
        assert (people.returncode, errors) == (0, "")
        machine = start_command(*asked, "--json", "--report", "other.html")
        (line,) = machine.communicate()[0].splitlines()
        assert machine.returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == ["demo-report.html", "other.html"]
    return Told(printed, json.loads(line), (folder / "demo-report.html").read_text(encoding="utf-8"))


def test_the_last_line_has_corpus_metrics_report_and_seconds(told):
    assert list(told.result) == ["corpus", "metrics", "tail", "report", "seconds"]
    assert list(told.result["metrics"]) == NAMES
    assert told.result["report"] == "other.html"
    assert list(told.result["seconds"]) == ["corpus", *NAMES, "total"]
    assert told.result["corpus"]["splits"]["test"]["rows"] == 80
    assert told.result["metrics"]["linear"]["P@1"] > told.result["metrics"]["popularity"]["P@1"]
    assert list(told.result["tail"]["metrics"]) == TAILS
    assert told.result["tail"]["metrics"]["0"] == told.result["metrics"]["default"]


def test_all_models_and_both_floors_are_printed_overall_and_by_frequency(told):
    for metric in ("P@1", "PSP@5", "R@10"):
        assert f"{metric} by training rows of a label" in told.printed
    for name in NAMES:
        assert len(re.findall(rf"^{re.escape(name)}  +\d", told.printed, re.MULTILINE)) == 4
    overall = told.result["metrics"]["linear with gandalf"]["R@10"]
    assert re.search(rf"^linear with gandalf .* {overall:.2f}$", told.printed, re.MULTILINE)


def test_beneath_a_table_stands_who_is_best_in_it(told):
    best = {
        name: max(of_model[name] for of_model in told.result["metrics"].values()) for name in ("P@1", "PSP@5")
    }
    (overall,) = re.findall(r"^Best: .*$", told.printed, re.MULTILINE)
    assert all(f"in {name} ({figure:.2f})" in overall for name, figure in best.items())
    for name in ("P@1", "PSP@5", "R@10"):
        (sentence,) = re.findall(rf"^Best {name}: .*$", told.printed, re.MULTILINE)
        tails = [of_model["slices"]["tail"][name] for of_model in told.result["metrics"].values()]
        assert f"on tail labels ({max(tails):.2f})" in sentence


def test_the_default_is_what_train_takes_and_its_tails_are_those_of_evaluate(told, shared_cache):
    corpus = tw.demo_corpus(size=SIZE, seed=0)
    trained = tw.train(corpus, seed=0)
    assert f"default is {trained.name}, which `tailwright train` takes." in told.printed
    for tail, metrics in told.result["tail"]["metrics"].items():
        expected = tw.evaluate(trained, corpus.test, tail=float(tail))
        assert metrics["P@1"] == expected["P@1"]
        assert metrics["slices"]["tail"]["R@5"] == expected["slices"]["tail"]["R@5"]
        assert re.search(rf"^--tail {tail} +{expected['P@1']:.2f} ", told.printed, re.MULTILINE)
    assert (
        "Too few rows were held out in training to recommend a tail; --tail 1 changes P@1 by" in told.printed
    )


def test_a_gain_is_printed_with_its_sign_interval_and_verdict(told):
    metrics = told.result["metrics"]
    gain = metrics["linear with gandalf"]["R@10"] - metrics["linear"]["R@10"]
    assert re.search(
        rf"^all +{re.escape(f'{gain:+.2f}')} .* to .* (better|worse|no clear difference)$",
        told.printed,
        re.MULTILINE,
    )


def test_examples_are_introduced_by_the_rule_they_were_drawn_by(told):
    rule = re.search(
        r"with gandalf more of them on (\d+) of 80 test rows, fewer on (\d+)\.\n"
        r"Drawn at random in that proportion, (\d) better and (\d) worse",
        told.printed,
    )
    more, fewer, better, worse = map(int, rule.groups())
    assert better + worse == min(more + fewer, 5) > 0
    assert told.printed.count("    without -> ") == told.printed.count("    with    -> ") == better + worse
    assert "*" in told.printed.split("(* is right):")[1]
    assert "\nwrote demo-report.html\n" in told.printed


def test_it_ends_with_what_to_run_on_ones_own_data(told):
    last = told.printed.splitlines()[-len(NEXT) :]
    assert [line.split("  ")[1] for line in last] == list(NEXT)


def test_the_page_is_whole_and_needs_no_network(told):
    reading = Reading(told.page)
    assert reading.wrong == []
    assert "http:" not in told.page
    assert "https:" not in told.page
    assert (reading.count("svg"), reading.count("desc")) == (3, 3)
    assert reading.of("h2") == [
        "The corpus",
        "Five models on 80 test rows",
        "Where augmentation helps, and where it does not",
        "Predictions before and after",
        "The dial for rare labels",
        "How it was made",
    ]


def test_the_page_has_the_figures_that_are_printed(told):
    cells = Reading(told.page).of("td")
    for name in NAMES:
        metrics = told.result["metrics"][name]
        assert f"{metrics['P@1']:.2f}" in cells
        assert f"{metrics['slices']['tail']['R@10']:.2f}" in cells
    assert Reading(told.page).count("article") == told.printed.count("    without -> ")
    assert f"{told.result['corpus']['labels']['labels']:,}" in cells


def test_the_commands_on_the_page_give_its_figures(told, shared_cache, tmp_path, monkeypatch):
    command, script = Reading(told.page).of("code")
    assert command == f"tailwright demo --size {SIZE} --seed 0"
    (tmp_path / "script.py").write_text(script)
    monkeypatch.chdir(tmp_path)
    printed, _ = start_script("script.py").communicate()
    assert float(printed) == told.result["metrics"]["linear with gandalf"]["R@10"]


def test_a_page_that_cannot_be_written_is_refused_before_any_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tailwright.data.demo.demo_corpus", lambda **asked: pytest.fail("work was begun"))
    assert run(["demo", "--report", "nowhere/r.html"]) == 2
    printed = capsys.readouterr()
    assert printed.err == "tailwright: nowhere/r.html: cannot be written (No such file or directory)\n"
    assert printed.out == ""
    assert run(["demo", "--report", "."]) == 2
    assert list(tmp_path.iterdir()) == []


def test_no_page_is_written_if_none_is_wanted(shared_cache, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    few = {name: {"model": "popularity"} for name in NAMES}
    monkeypatch.setattr(demo_story, "MODELS", few)
    assert run(["demo", "--size", str(SIZE), "--report", "none", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] is None
    assert run(["demo", "--size", str(SIZE), "--report", "none", "--quiet"]) == 0
    printed = capsys.readouterr().out
    # Two models that say the same: nothing to show, and no gain is claimed.
    assert "Tail labels among the first 3: gandalf changed nothing on 80 test rows." in printed
    assert "better" not in printed
    assert list(tmp_path.iterdir()) == []
