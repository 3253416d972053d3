"""GDA: texts by a language model that was tuned on pairs of rows with the same labels."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripts import start_command

import tailwright as tw
from tailwright.augmentation import Forecast, augmenter, augmenters, row_augmenter
from tailwright.augmentation.gda import Gda, GdaSettings
from tailwright.checks.corpora import FILLERS, odd_corpus, tiny_corpus
from tailwright.cli import run
from tailwright.data import Corpus, Dataset
from tailwright.data.corpus import corpus_from_lists
from tailwright.data.dataset import arrow_strings
from tailwright.data.pairs import same_pairs
from tailwright.errors import InputError
from tailwright.language.pairs import TextPairs
from tailwright.language.settings import DecodingSettings, TuningSettings
from tailwright.settings import settings_from, settings_table
from tailwright.streams import stream
from tailwright.study.advise.advisor import contenders_for


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch) -> Path:
    """Generators and texts of one test are not found by another."""
    monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TAILWRIGHT_SHARED", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path / "cache"


def gda(**settings: Any) -> Gda:
    made = augmenter("gda", {**Gda.quick, **settings})
    assert isinstance(made, Gda)
    return made


def corpus_of_rows(rows: int = 120) -> Corpus:
    """Weighted rows with soft targets, ignored and excluded pairs."""
    corpus = tiny_corpus(rows)
    train = corpus.train
    soft = train.targets.copy()
    soft.data = np.linspace(0.1, 1, len(soft.data)).astype(np.float32)
    marked = replace(
        train,
        targets=soft,
        weights=np.linspace(0.5, 2, rows).astype(np.float32),
        ignored=train.targets.astype(bool).astype(np.float32),
        excluded=train.targets.astype(bool).astype(np.float32)[:, ::-1],
    )
    return corpus.with_train(marked)


def test_new_rows_have_the_columns_of_their_source():
    corpus = corpus_of_rows()
    made = gda().new_rows(corpus, seed=2)
    assert 0 < len(made) <= 12
    assert set(made.origin.names()) == {"gda"}
    sources = corpus.train.take(made.origin.rows)
    for column in ("targets", "ignored", "excluded"):
        assert same_pairs(getattr(made, column), getattr(sources, column))
    assert np.array_equal(made.weights, sources.weights)
    assert all(text and text != source for text, source in zip(*texts_of(made, sources), strict=True))


def texts_of(*rows: Dataset) -> list[list[str]]:
    return [part.texts.to_pylist() for part in rows]


def test_workers_and_the_order_of_rows_change_nothing_with_nothing_kept(tmp_path, monkeypatch):
    corpus = tiny_corpus()
    order = stream(0, "order").permutation(len(corpus.train))
    shuffled = corpus.with_train(corpus.train.take(order))
    made = []
    for number, (rows, workers) in enumerate([(corpus, 1), (corpus, 2), (shuffled, 1)]):
        monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / f"cache{number}"))
        made.append(gda().new_rows(rows, seed=1, workers=workers))
    assert len(made[0])
    assert made[1].same_as(made[0])
    assert made[2].same_as(made[0])
    assert not gda().new_rows(corpus, seed=2).same_as(made[0])


def test_one_weight_after_the_other_is_tried_without_writing_anew(own_cache):
    corpus = tiny_corpus()
    first = tw.augment(corpus, gda(weight=0.5))
    files = kept_files(own_cache)
    assert files
    second = tw.augment(corpus, gda(weight=1.0))
    assert kept_files(own_cache) == files
    assert first.train.texts.equals(second.train.texts)
    assert np.array_equal(
        second.train.weights[len(corpus.train) :] * 0.5, first.train.weights[len(corpus.train) :]
    )


def kept_files(folder: Path) -> dict[str, int]:
    """Files of texts and generators, and when each was written; logs and locks aside."""
    found = [path for path in (folder / "work").rglob("*") if path.suffix in {".json", ".safetensors"}]
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in found}


def test_settings_of_decoding_do_not_tune_anew(own_cache):
    corpus = tiny_corpus()
    for beams in (2, 3):
        gda(beams=beams).new_rows(corpus)
    kinds = [path.name.split("-")[0] for path in (own_cache / "work").iterdir() if path.is_dir()]
    assert sorted(kinds) == ["generator", "texts", "texts"]


def test_counts_bleu_and_the_share_of_rows_are_logged(caplog):
    caplog.set_level(logging.INFO, logger="tailwright.augmentation")
    gda(held_out=0.3, max_pairs=40, bleu_pairs=2).new_rows(tiny_corpus())
    said = " | ".join(caplog.messages)
    assert "120 of 120 rows are fit; 40 pairs with the same labels" in said
    assert "BLEU" in said
    assert "on 2 held-out pairs" in said
    assert "texts for 12 sources; counted:" in said
    assert "% of the training rows (20.3 % in the paper)" in said


def test_too_few_pairs_add_no_rows_and_say_why(caplog):
    corpus = corpus_from_lists(
        [f"some words of row {i}" for i in range(12)], [[i] for i in range(12)], ["x"] * 12
    )
    chosen = row_augmenter("gda", {"rows": "all"})
    assert len(chosen.new_rows(corpus)) == 0
    assert (
        "no rows are added: 0 pairs of rows with the same labels, where min_pairs=8 are needed" in caplog.text
    )
    assert len(tw.augment(corpus, chosen).train) == 12
    forecast = chosen.forecast(corpus)
    assert (forecast.rows, forecast.seconds) == (0, 0)
    assert "min_pairs=8" in forecast.lines[0]


def test_no_source_adds_no_rows_and_says_why(caplog):
    assert len(gda(rows="tail", tail_below=1).new_rows(tiny_corpus())) == 0
    assert "no rows are added: no source among the fit rows" in caplog.text


def test_a_corpus_without_a_fit_row_is_one_line():
    with pytest.raises(
        InputError, match="no row is fit for gda, expected original rows with min_words to max"
    ):
        row_augmenter("gda").new_rows(odd_corpus())


def test_a_folder_of_weights_can_be_tuned(tmp_path):
    from tailwright.language.causal import scratch_generator

    words = arrow_strings(list(FILLERS))
    settings = TuningSettings(scratch_width=16, scratch_layers=1, scratch_vocabulary=300, separator=None)
    made = scratch_generator(TextPairs(words, words), settings, seed=0)
    made.model.save_pretrained(tmp_path / "weights")
    made.tokenizer.save_pretrained(tmp_path / "weights")
    rows = gda(generator=str(tmp_path / "weights")).new_rows(tiny_corpus())
    assert 0 < len(rows) <= 12


def test_a_generator_that_is_nowhere_is_one_line():
    with pytest.raises(InputError, match="no/such/folder"):
        gda(generator="./no/such/folder").new_rows(tiny_corpus())


def test_settings_nest_and_have_short_names_too():
    made = settings_from(GdaSettings, {"epochs": "1", "beams": "3", "max_pairs": "none", "rows": "0.5"})
    assert (made.tuning.epochs, made.decoding.beams, made.pairs.max_pairs) == (1, 3, None)
    assert made.selection.rows == 0.5
    whole = {"tuning.epochs": 1, "decoding": {"beams": 3}, "selection.rows": 0.5}
    assert settings_from(GdaSettings, whole) == made
    assert GdaSettings().tuning == TuningSettings()
    assert GdaSettings().decoding == DecodingSettings()


def test_every_short_name_is_the_name_of_one_setting():
    names = [one.name.rpartition(".")[2] for one in settings_table(GdaSettings)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"epochs": 0}, "epochs must be in \\[1, 1000000\\], got 0"),
        ({"beams": 0}, "beams must be in \\[1, 1000\\], got 0"),
        ({"pairs_per_set": 0}, "pairs_per_set must be >= 1, got 0"),
        ({"tail_below": 0}, "tail_below must be >= 1, got 0"),
        ({"weight": -1}, "weight must be in \\[0, 1000000\\], got -1"),
        ({"generator": ""}, "generator must be a name"),
        ({"bleu_pairs": -1}, "bleu_pairs must be >= 0, got -1"),
    ],
)
def test_a_wrong_setting_of_any_part_is_named(wrong, line):
    with pytest.raises(InputError, match=line):
        augmenter("gda", wrong)


def test_the_advisor_does_not_try_it_unasked():
    assert "gda" in augmenters.names()
    assert "gda" not in {contender.method for contender in contenders_for("linear", tiny_corpus(20))}


def test_asking_for_it_loads_no_language_model_library():
    code = (
        "import sys, tailwright.augmentation.gda; "
        "print([name for name in ('torch', 'transformers', 'peft') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_forecast_counts_what_would_be_done_and_keeps_nothing(own_cache):
    corpus = tiny_corpus()
    chosen = gda(held_out=0.3, bleu_pairs=2, max_pairs=40)
    forecast = chosen.forecast(corpus, seed=3)
    assert isinstance(forecast, Forecast)
    assert forecast.sources == forecast.rows == 12
    assert len(chosen.new_rows(corpus, seed=3)) <= forecast.rows
    assert forecast.machine_hours == forecast.seconds / 3600 > 0
    assert forecast.memory_mb > 1
    assert "40 pairs of" in forecast.lines[0]
    assert "writing: 14 texts" in forecast.lines[1]


def test_a_forecast_leaves_the_cache_empty(own_cache):
    gda().forecast(tiny_corpus())
    assert not kept_files(own_cache)


def test_lora_with_random_weights_is_refused_in_a_forecast_too():
    with pytest.raises(InputError, match=r"tuning\.mode=lora with random weights"):
        gda(mode="lora").forecast(tiny_corpus())


# The command, killed and run again.


@pytest.fixture
def files(tmp_path) -> Path:
    tw.write(tiny_corpus(), tmp_path / "data", format="jsonl")
    return tmp_path / "data"


def command(files: Path, out: Path, **settings: Any) -> list[str]:
    given = {**Gda.quick, **settings}
    sets = [part for name, value in given.items() for part in ("--set", f"gda.{name}={value}")]
    return ["augment", str(files), "--method", "gda", "--out", str(out), "--format", "jsonl", "-q", *sets]


def killed_when(arguments: list[str], cache: Path, reached: Callable[[], bool]) -> None:
    """Start the command and `kill -9` it as soon as `reached`."""
    process = start_command(*arguments, TAILWRIGHT_CACHE=str(cache))
    for _ in wait_at_most(120):
        assert process.poll() is None, "it ended before it could be killed"
        if reached():
            break
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def wait_at_most(seconds: float) -> Iterator[None]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(0.002)
    pytest.fail("never got there")


@pytest.mark.slow
def test_killed_in_tuning_and_in_writing_it_goes_on_to_the_same_rows(files, tmp_path, monkeypatch):
    slow = {"epochs": 30, "checkpoint_seconds": 0, "held_out": 0, "max_rows": 40, "shard_rows": 2}
    cache, work = tmp_path / "killed", tmp_path / "killed" / "work"
    arguments = command(files, tmp_path / "out", **slow)

    killed_when(arguments, cache, lambda: any(work.glob("generator-*/checkpoint/manifest.json")))
    assert not any(work.glob("generator-*/generator/*"))
    assert not any(work.glob("texts-*"))

    killed_when(arguments, cache, lambda: len(list(work.glob("texts-*/*.json"))) >= 3)
    log = [
        json.loads(line)
        for path in work.glob("generator-*/log.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert [entry["event"] for entry in log].count("resume") == 1
    done = kept_files(cache)
    shards = [name for name in done if "/texts-" in name]
    assert 3 <= len(shards) < 20
    assert not (tmp_path / "out").exists()

    monkeypatch.setenv("TAILWRIGHT_CACHE", str(cache))
    assert run(arguments) == 0
    after = kept_files(cache)
    assert {name: after[name] for name in done} == done
    assert len([name for name in after if "/texts-" in name]) > len(shards)

    monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / "undisturbed"))
    assert run(command(files, tmp_path / "whole", **slow)) == 0
    assert tw.read(tmp_path / "out").train.same_as(tw.read(tmp_path / "whole").train)
    assert len(tw.read(tmp_path / "whole").train) > 120
