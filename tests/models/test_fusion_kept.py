"""Fusions that are saved, damaged, killed and resumed, and what their runs and logs say."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.models.fusion.model import Fusion
from tailwright.settings import settings_from
from tailwright.store import open_folder, writing
from tailwright.training.workplace import Workplace

sys.path.insert(0, str(Path(__file__).parent))
from tiny_fusions import QUICK, TOYS, fitted, in_one_thread, name_toys, same
from toy_parts import KilledError, Toy, toy_corpus, toy_rows


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    with in_one_thread():
        yield


@pytest.fixture(autouse=True)
def toys(monkeypatch) -> None:
    name_toys(monkeypatch)


@pytest.fixture(scope="module")
def both() -> Fusion:
    """linear+twin with a learnt combination."""
    return fitted("linear+twin", tiny_corpus(rows=200), QUICK)


def saved(model: Fusion, folder: Path) -> Path:
    with writing(folder, kind="model") as writer:
        model.save(writer)
    return folder


def test_a_folder_brings_back_parts_and_combination(both, tmp_path):
    again = models.get("linear+twin")(both.settings)
    again.load(open_folder(saved(both, tmp_path / "model"), kind="model"), 11)
    assert same(again.combination, both.combination)
    texts = ["apple harbour", "guitar", ""]
    mine, theirs = (model.predict(texts, 20) for model in (both, again))
    np.testing.assert_array_equal(mine.ids, theirs.ids)
    np.testing.assert_array_equal(mine.scores, theirs.scores)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"direct": np.full(12, np.nan, np.float32)}, "found direct of float32, expected finite float32"),
        ({"curve": np.array([np.inf, 0], np.float32)}, "found curve of float32, expected finite float32"),
        ({"deviation": np.zeros(12, np.float32)}, "found deviation of float32"),
        ({"mean": np.zeros(12)}, "found mean of float64, expected finite float32"),
        ({"inner": np.zeros((31, 12), np.float32)}, "inner"),
        ({"outer": np.zeros(33, np.float32)}, "outer"),
        ({"offset": np.zeros((32, 1), np.float32)}, "offset"),
    ],
)
def test_a_damaged_combination_is_one_line(both, tmp_path, change, message):
    damaged = models.get("linear+twin")(both.settings)
    damaged.parts, damaged.counts, damaged.mentions = both.parts, both.counts, both.mentions
    damaged.combination = replace(both.combination, **change)
    with pytest.raises(InputError) as caught:
        damaged.load(open_folder(saved(damaged, tmp_path / "model"), kind="model"), 11)
    assert message in str(caught.value)
    assert str(tmp_path / "model" / "combination.safetensors") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("counts", [np.full(11, -1), np.ones(10, np.int64)])
def test_counts_that_cannot_be_are_one_line(both, tmp_path, counts):
    damaged = models.get("linear+twin")(both.settings)
    damaged.parts, damaged.combination, damaged.counts = both.parts, both.combination, counts
    damaged.mentions = both.mentions
    with pytest.raises(InputError, match="counts"):
        damaged.load(open_folder(saved(damaged, tmp_path / "model"), kind="model"), 11)


@pytest.mark.slow
def test_a_part_that_was_finished_before_a_kill_is_not_trained_again(tmp_path):
    corpus, data = toy_corpus(400), toy_rows(400, 450)
    once = {"held_out": 0.25, "few_rows": 0}  # not again from all rows
    expected = fitted(TOYS, corpus, once).predict(data.texts, 6)
    Toy.fits.clear()
    Toy.dying.add("knows-rare")
    with pytest.raises(KilledError):
        fitted(TOYS, corpus, once, Workplace(tmp_path))
    assert [name for name, _ in Toy.fits] == ["knows-frequent", "knows-rare"]
    Toy.fits.clear()
    Toy.dying.clear()
    model = fitted(TOYS, corpus, once, Workplace(tmp_path, resume=True))
    assert [name for name, _ in Toy.fits] == ["knows-rare"]
    top = model.predict(data.texts, 6)
    np.testing.assert_array_equal(top.ids, expected.ids)
    np.testing.assert_array_equal(top.scores, expected.scores)
    # Not asked to resume, it starts anew.
    Toy.fits.clear()
    fitted(TOYS, corpus, once, Workplace(tmp_path))
    assert [name for name, _ in Toy.fits] == ["knows-frequent", "knows-rare"]


@pytest.mark.parametrize("stop", [1, *(pytest.param(stop, marks=pytest.mark.slow) for stop in (4, 7))])
def test_linear_and_twin_killed_in_twin_end_with_the_same_predictions(both, tmp_path, monkeypatch, stop):
    corpus = tiny_corpus(rows=200)
    checkpoint, done = Workplace.checkpoint, []

    def stopping(self, save, *, now=False):
        checkpoint(self, save, now=True)
        done.append(self.folder.name)
        if done.count("twin") == stop:
            raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(Workplace, "checkpoint", stopping)
        with pytest.raises(KilledError):
            fitted("linear+twin", corpus, QUICK, Workplace(tmp_path))
    model = fitted("linear+twin", corpus, QUICK, Workplace(tmp_path, resume=True))
    events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    started = [event["phase"] for event in events if event["event"] == "start"]
    assert (started.count("linear"), started.count("combination")) == (1, 1)
    assert "resume" in [event["event"] for event in events]
    mine, theirs = (m.predict(corpus.train.texts, 8) for m in (model, both))
    np.testing.assert_array_equal(mine.ids, theirs.ids)
    np.testing.assert_array_equal(mine.scores, theirs.scores)


def test_settings_of_the_parts_are_in_the_run_and_come_back(tmp_path):
    asked = {**QUICK, "candidates": 7, "linear": {"trees": 2, "cost": 0.5}}
    run = tw.train(tiny_corpus(), "linear+twin", settings=asked, out=tmp_path / "run")
    kept = json.loads((tmp_path / "run" / "run.json").read_text())["settings"]
    assert (kept["candidates"], kept["linear"]["trees"], kept["twin"]["width"]) == (7, 2, 16)
    loaded = tw.load(tmp_path / "run")
    assert loaded.model.settings == run.model.settings
    assert [part.settings for part in loaded.model.parts] == [
        run.model.settings.linear,
        run.model.settings.twin,
    ]
    assert loaded.predict(["apple harbour"], k=4) == run.predict(["apple harbour"], k=4)


def test_memory_is_announced_for_the_largest_part_before_the_first_is_trained(tmp_path):
    quick = settings_from(models.settings("linear+twin"), {"twin.width": 16, "few_rows": 0})
    models.get("linear+twin")(quick).fit(tiny_corpus(), work=Workplace(tmp_path))
    events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events[:2]] == ["memory", "start"]
    assert events[1]["phase"] == "linear"
