"""`advise`, and `train --budget`, as a user meets them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.evaluation.bootstrap import Difference
from tailwright.study.advise.advisor import Advice, Contender, Ranked

HARD = Contender("gandalf", {"soft": False})
DEFAULT = "linear+twin+label-matcher"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "tiny"
    tw.write(tiny_corpus(), folder, format="jsonl")
    return folder


@pytest.fixture
def recommend(monkeypatch):
    """Let advice come out as asked for; None if nothing could be tried."""

    def patch(chosen: Contender | None) -> None:
        ranking = () if chosen is None else (Ranked(HARD, 1.0, 108, 20, 1, GAINS, 0.5),)

        def advised(corpus, model, **options):
            best = chosen or Contender()
            return Advice(model, "PSP@5", ranking, best, "it is so", (), 1.0)

        monkeypatch.setattr("tailwright.study.advise.advisor.advise", advised)

    gain = Difference("PSP@5", 1.0, -1.0, 3.0, 0.5, 12, 1)
    GAINS = {"all": {"PSP@5": gain, "P@1": gain}}
    return patch


def last_line(capsys) -> dict:
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_advice_and_training_agree_on_the_model_and_the_advised_command_trains_it(
    tiny, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert run(["train", str(tiny), "--out", "plain", "--json"]) == 0
    printed = capsys.readouterr()
    trained = json.loads(printed.out.splitlines()[-1])
    (measures,) = re.findall(r"not measured on your rows: `tailwright (.*)` measures it", printed.err)
    assert measures == f"advise {tiny} --model {DEFAULT}"
    monkeypatch.setattr("tailwright.study.advise.advisor.contenders_for", lambda model, corpus: [HARD])
    answers = []
    for words in (shlex.split(measures), ["advise", str(tiny)]):
        assert run([*words, "--budget", "1h", "--json", "-q"]) == 0
        answers.append(last_line(capsys))
    for said in answers:
        assert said["model"] == trained["model"] == DEFAULT
        assert said["ranking"][0]["gains"]["all"]["PSP@5"]["rows"] > 0
    assert answers[0]["ranking"] == answers[1]["ranking"]
    method, settings = answers[0]["chosen"].values()
    assert run([*shlex.split(answers[0]["command"])[1:], "--json"]) == 0
    advised = last_line(capsys)
    assert (advised["model"], advised["augment"]) == (DEFAULT, [method] if method else [])
    assert method or advised["metrics"] == trained["metrics"]
    applied = tw.load("run").augmentations
    assert all(one.settings.items() >= settings.items() for one in applied)


@pytest.mark.parametrize(
    ("options", "chosen", "added", "sentence"),
    [
        ([], Contender(), "", "`tailwright train` does so by itself"),
        ([], HARD, " --augment gandalf --set gandalf.soft=false", "That is the one change to what"),
        ([], None, "", "Nothing is known: it is so. The rule of `tailwright train` stands, none:"),
        (["--model", DEFAULT], Contender(), "", "`tailwright train` does so by itself"),
        (["--model", "linear"], HARD, " --model linear", "`tailwright train` does so by itself"),
        (["--model", "linear"], Contender(), " --model linear --augment none", "That is the one change"),
        (["--model", "linear"], None, " --model linear", "stands, gandalf (soft=false):"),
    ],
)
def test_the_command_differs_from_plain_training_by_the_advice_alone(
    tiny, tmp_path, capsys, monkeypatch, recommend, options, chosen, added, sentence
):
    recommend(chosen)
    monkeypatch.chdir(tmp_path)
    assert run(["advise", str(tiny), *options, "-q"]) == 0
    *said, command = capsys.readouterr().out.splitlines()
    assert command == f"  tailwright train {tiny} --out run{added}"
    assert sentence in said[-1]
    model = options[1] if options else DEFAULT
    taken = "" if model == "linear" else ", the model that `tailwright train` takes here"
    assert f"advice for {model}{taken}" in said


def test_the_command_reads_the_table_as_the_advice_did(tmp_path, capsys, monkeypatch, recommend):
    recommend(Contender())
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"red hat {i};hats, {i % 3}\n" for i in range(30))
    Path("shop.csv").write_text(f"what;kind\n{rows}")
    Path("run").mkdir()
    asked = ["shop.csv", "--text", "what", "--labels", "kind", "--separator", ", "]
    assert run(["advise", *asked, "--seed", "3", "-q"]) == 0
    command = capsys.readouterr().out.splitlines()[-1].strip()
    assert command == f"tailwright train {shlex.join(asked)} --seed 3 --out run-2"


def test_a_training_keeps_to_the_rule_if_its_budget_was_too_short(tiny, tmp_path, capsys, recommend):
    recommend(None)
    command = ["train", str(tiny), "--out", str(tmp_path / "run"), "--model", "linear", "--budget", "1s"]
    assert run([*command, "--set", "trees=1"]) == 0
    assert "augmentation gandalf (soft=false), by rule: it is so" in capsys.readouterr().err
    (applied,) = tw.load(tmp_path / "run").augmentations
    assert (applied.name, applied.settings["soft"]) == ("gandalf", False)


def test_advice_has_a_ranking_with_intervals_and_the_command_to_run(tiny, capsys):
    assert run(["advise", str(tiny), "--model", "label-matcher", "--budget", "1h", "--json"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said["command"] == f"tailwright train {tiny} --out run --model label-matcher"
    first = said["ranking"][0]
    gain = first["gains"]["all"]["PSP@5"]
    assert gain["low"] <= gain["mean"] <= gain["high"]
    assert {"method", "settings", "labels", "seeds", "p"} <= first.keys()
    assert said["chosen"] == {"method": None, "settings": {}}
    assert len(said["probes"]) > len(said["ranking"])


@pytest.mark.slow
def test_advice_for_people_names_the_corpus_the_gains_and_the_choice(tiny, capsys):
    assert run(["advise", str(tiny), "--model", "label-matcher", "--budget", "1h", "-q"]) == 0
    out = capsys.readouterr().out
    assert "120 training rows" in out
    assert "Gain of label-matcher over no augmentation" in out
    assert "Use none:" in out
    assert "tailwright train" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--budget", "soon"], "expected such as 90s, 10m or 1.5h"),
        (["--metric", "P@2"], "expected one of P@1"),
        (["--model", "twinn"], "did you mean 'twin'"),
    ],
)
def test_what_cannot_be_asked_for_is_one_line(tiny, capsys, options, said):
    assert run(["advise", str(tiny), *options]) == 2
    error = capsys.readouterr().err.splitlines()
    assert said in error[-1]


def test_a_training_with_a_budget_takes_the_advice_and_keeps_it_over_a_kill(
    tiny, tmp_path, capsys, monkeypatch
):
    asked = []

    def advised(corpus, model, **options):
        asked.append((model, options["budget"]))
        tried = (Ranked(HARD, 1.0, 108, 20, 1, {}, 0.01),)
        return Advice(model, "PSP@5", tried, HARD, "it helps", (), 1.0)

    monkeypatch.setattr("tailwright.study.advise.advisor.advise", advised)
    out, kept = tmp_path / "run", tmp_path / "run.advice.json"
    command = ["train", str(tiny), "--out", str(out), "--model", "popularity", "--budget", "2m", "--json"]

    def killed(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tailwright.models.popularity.Popularity.fit", killed)
        assert run(command) == 130
    assert kept.is_file()
    assert run([*command, "--resume"]) == 0
    assert asked == [("popularity", 120.0)]
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["augment"] == ["gandalf"]
    assert not kept.exists()


def test_a_budget_beside_a_chosen_augmentation_is_refused(tiny, tmp_path, capsys):
    command = ["train", str(tiny), "--out", str(tmp_path / "run"), "--budget", "1m", "--augment", "gandalf"]
    assert run(command) == 2
    assert "--budget and --augment gandalf, expected --augment auto" in capsys.readouterr().err
