"""`advise`, and `train --budget`, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.study.advise.advisor import Advice, Contender


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "tiny"
    tw.write(tiny_corpus(), folder, format="jsonl")
    return folder


def test_advice_has_a_ranking_with_intervals_and_the_command_to_run(tiny, capsys):
    assert run(["advise", str(tiny), "--model", "label-matcher", "--budget", "1h", "--json"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said["command"].startswith(f"tailwright train {tiny} --out run --model label-matcher --augment")
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
        best = Contender("gandalf", {"soft": False})
        return Advice(model, "PSP@5", (), best, "it helps", (), 1.0)

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
