"""XDA: texts whose masked words a T5 with a learnt prompt has filled in anew."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripts import start_command
from tiny_t5 import save_tiny_t5

import tailwright as tw
from tailwright.augmentation import Forecast, augmenter
from tailwright.augmentation.shared.infilling import first_characters
from tailwright.augmentation.xda import Xda
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.data.pairs import same_pairs
from tailwright.errors import InputError
from tailwright.language import filling, prompt_tuning
from tailwright.language.filling import Question
from tailwright.streams import stream


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch) -> Path:
    """What one test has learnt and written is not found by another."""
    monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TAILWRIGHT_SHARED", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    return str(save_tiny_t5(tmp_path_factory.mktemp("models") / "t5"))


def xda(**settings: Any) -> Xda:
    made = augmenter("xda", {**Xda.quick, **settings})
    assert isinstance(made, Xda)
    return made


@pytest.fixture
def asked(monkeypatch) -> list[Question]:
    """The questions to a T5 that fills every blank with `fresh`."""
    seen: list[Question] = []

    def answers(self: object, questions: Sequence[Question]) -> list[list[str]]:
        seen.extend(questions)
        return [["fresh"] * (len(question.segments) - 1) for question in questions]

    monkeypatch.setattr(filling.Filler, "answers", answers)
    return seen


def test_new_rows_have_the_columns_of_their_source_and_other_texts(folder):
    corpus = tiny_corpus()
    weights = np.linspace(0.5, 2, len(corpus.train)).astype(np.float32)
    corpus = corpus.with_train(replace(corpus.train, weights=weights))
    made = xda(generator=folder, copies=3).new_rows(corpus, seed=2)
    assert 12 < len(made) <= 36
    assert set(made.origin.names()) == {"xda"}
    sources = corpus.train.take(made.origin.rows)
    assert same_pairs(made.targets, sources.targets)
    assert np.array_equal(made.weights, sources.weights)
    for text, source in zip(made.texts.to_pylist(), sources.texts.to_pylist(), strict=True):
        assert text != source
        assert len(set(text.split()) & set(source.split())) >= 2  # half of seven words is kept


def test_workers_and_the_order_of_rows_change_nothing_with_nothing_kept(folder, tmp_path, monkeypatch):
    corpus = tiny_corpus()
    order = stream(0, "order").permutation(len(corpus.train))
    shuffled = corpus.with_train(corpus.train.take(order))
    made = []
    for number, (rows, workers) in enumerate([(corpus, 1), (corpus, 2), (shuffled, 1)]):
        monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / f"cache{number}"))
        made.append(xda(generator=folder).new_rows(rows, seed=1, workers=workers))
    assert made[1].same_as(made[0])
    assert made[2].same_as(made[0])
    assert not xda(generator=folder).new_rows(corpus, seed=2).same_as(made[0])


def test_labels_stand_before_a_text_and_not_in_the_new_one(folder, asked):
    corpus = tiny_corpus()
    made = xda(generator=folder, prompt="off").new_rows(corpus)
    assert {question.line.endswith(" things :") for question in asked} == {True}
    assert not any(":" in text for text in made.texts.to_pylist())
    lines = {question.line for question in asked}
    asked.clear()
    plain = xda(generator=folder, prompt="off", labels_in_prompt="off").new_rows(corpus)
    assert {question.line for question in asked} == {""} != lines
    assert plain.texts.equals(made.texts)  # the same blanks


def test_labels_that_a_row_ignores_do_not_stand_before_its_text(folder, asked):
    corpus = tiny_corpus()
    hidden = corpus.with_train(
        replace(corpus.train, ignored=corpus.train.targets.astype(bool).astype(np.float32))
    )
    xda(generator=folder, prompt="off").new_rows(hidden)
    assert {question.line for question in asked} == {""}


def test_without_a_prompt_nothing_is_learnt(folder, monkeypatch, asked):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("learnt")

    monkeypatch.setattr(prompt_tuning, "learn_once", never)
    assert len(xda(generator=folder, prompt="off").new_rows(tiny_corpus()))
    with pytest.raises(AssertionError, match="learnt"):
        xda(generator=folder).new_rows(tiny_corpus())


def test_texts_that_do_not_change_or_come_twice_give_no_row(folder, asked):
    made = xda(generator=folder, prompt="off", mask_share=0.15, copies=9).new_rows(tiny_corpus())
    texts = list(zip(made.origin.rows.tolist(), made.texts.to_pylist(), strict=True))
    assert len(set(texts)) == len(texts) < 9 * 12
    assert all(text.split().count("fresh") == 1 for _, text in texts)


def test_the_best_new_rows_are_kept_and_their_head_labels_masked_beside_those_of_other_methods(folder, asked):
    swaps = {"rows": "all", "operations": ("swap",)}  # which need no WordNet
    corpus = tw.augment(tiny_corpus(), "eda", settings=swaps)
    settings = {"generator": folder, "prompt": "off", "copies": 4, "masking.tail_below": 6}
    whole = {**settings, "filter": "off", "mask": "off"}
    plain, refined = (tw.augment(corpus, xda(**chosen)).train for chosen in (whole, settings))
    before = np.arange(len(corpus.train))
    assert refined.take(before).same_as(corpus.train)
    made, kept = (rows.take(np.arange(len(before), len(rows))) for rows in (plain, refined))
    assert 0 < len(kept) < len(made)
    assert set(kept.texts.to_pylist()) <= set(made.texts.to_pylist())
    heads = corpus.labels.counts >= 6
    assert not made.ignored.nnz
    assert heads[kept.ignored.indices].all()
    assert kept.ignored.nnz == int(heads[kept.targets.indices].sum()) > 0


def test_only_the_first_characters_of_a_text_are_rewritten(folder, asked):
    made = xda(generator=folder, prompt="off", characters=20).new_rows(tiny_corpus())
    sources = {row: tiny_corpus().train.texts[row].as_py() for row in made.origin.rows.tolist()}
    for question in asked:
        assert sum(map(len, question.segments)) <= 20
    assert any(len(source) > 20 for source in sources.values())
    assert first_characters("one two", 7) == "one two"
    assert first_characters("one two", 5) == first_characters("one two", 4) == "one"
    assert first_characters("onetwothree", 5) == "onetw"


def test_by_default_rows_with_rare_labels_are_sources_whatever_their_length():
    settings = Xda.Settings()
    assert settings.selection.rows == "tail"
    assert settings.selection.max_words >= 100_000


def test_the_forecast_counts_what_would_be_done_and_keeps_nothing(own_cache, folder):
    for generator, lines in ((folder, 2), ("scratch", 3)):
        forecast = xda(generator=generator, copies=3).forecast(tiny_corpus())
        assert isinstance(forecast, Forecast)
        assert (forecast.sources, forecast.rows) == (12, 36)
        assert forecast.seconds > 0
        assert len(forecast.lines) == lines
    assert not list(own_cache.rglob("*.safetensors"))
    none = xda(generator=folder, min_words=100).forecast(tiny_corpus())
    assert none.rows == 0


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"mask_share": 0}, "mask_share must be in .0, 1., got 0"),
        ({"copies": 0}, "copies must be in \\[1, 10000\\], got 0"),
        ({"tuning.length": 0}, "length must be in \\[1, 65536\\], got 0"),
        ({"generator": ""}, "generator must be a name"),
        ({"blanks": 100}, "blanks must be in .1, 99., got 100"),
    ],
)
def test_a_wrong_setting_of_any_part_is_named(wrong, line):
    with pytest.raises(InputError, match=line):
        augmenter("xda", wrong)


def test_asking_for_it_loads_no_language_model_library():
    code = (
        "import sys, tailwright.augmentation.xda; "
        "print([name for name in ('torch', 'transformers', 'peft') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_killed_while_it_fills_it_goes_on_to_the_same_rows(folder, tmp_path, monkeypatch):
    tw.write(tiny_corpus(), tmp_path / "data", format="jsonl")
    settings = {**Xda.quick, "generator": folder, "max_rows": 40, "shard_rows": 2, "batch_tokens": 1}
    settings |= {"filter": "off", "mask": "off"}  # all rows that are made are compared
    sets = [part for name, value in settings.items() for part in ("--set", f"xda.{name}={value}")]

    def command(out: str) -> list[str]:
        asked = ["augment", str(tmp_path / "data"), "--method", "xda", "--out", str(tmp_path / out)]
        return [*asked, "--format", "jsonl", "-q", *sets]

    cache = tmp_path / "killed"
    process = start_command(*command("out"), TAILWRIGHT_CACHE=str(cache))
    while process.poll() is None and len(list(cache.glob("work/filled-*/*.json"))) < 3:
        time.sleep(0.002)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    done = {path: path.stat().st_mtime_ns for path in cache.glob("work/filled-*/*.json")}
    assert 3 <= len(done) < 20
    monkeypatch.setenv("TAILWRIGHT_CACHE", str(cache))
    assert run(command("out")) == 0
    assert {path: path.stat().st_mtime_ns for path in done} == done
    monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / "undisturbed"))
    assert run(command("whole")) == 0
    out, whole = (tw.read(tmp_path / name).train for name in ("out", "whole"))
    assert out.same_as(whole)
    assert len(whole) > 120


def test_the_command_says_beforehand_what_it_takes(folder, tmp_path, capsys):
    tw.write(tiny_corpus(), tmp_path / "data", format="jsonl")
    settings = {**Xda.quick, "generator": folder}
    sets = [part for name, value in settings.items() for part in ("--set", f"xda.{name}={value}")]
    assert (
        run(["augment", str(tmp_path / "data"), "--method", "xda", "--dry-run", "--json", "-q", *sets]) == 0
    )
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["forecast"]["xda"]["sources"] == 12
