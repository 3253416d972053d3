"""`--filter`, `--mask` and `tailwright filter` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.checks.refiners import with_copies
from tailwright.cli import run
from tailwright.cli.config import Asked
from tailwright.data import Corpus


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "tiny"
    tw.write(tiny_corpus(), folder, format="jsonl")
    return folder


@pytest.fixture(scope="module")
def more(tmp_path_factory) -> Path:
    """The tiny corpus with two made rows for each."""
    folder = tmp_path_factory.mktemp("data") / "more"
    tw.write(with_copies(tiny_corpus()), folder, format="jsonl")
    return folder


def last_json(capsys) -> dict:
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def same_rows(folder: Path, corpus: Corpus) -> bool:
    return tw.read(folder).train.same_as(corpus.train)


def test_a_corpus_on_disk_is_filtered_by_a_run(more, tiny, tmp_path, capsys):
    plain = tmp_path / "plain"
    assert run(["train", str(tiny), "--out", str(plain), "--model", "linear", "--augment", "none", "-q"]) == 0
    capsys.readouterr()
    arguments = ["filter", str(more), "--with", str(plain), "--keep", "0.5", "-q"]
    assert run([*arguments, "--out", str(tmp_path / "best"), "--json"]) == 0
    result = last_json(capsys)
    assert (result["rows_in"], result["made"]) == (360, 240)
    assert 240 <= result["rows_out"] < 360
    assert sum(result["consistency"]["rows"]) == sum(result["diversity"]["rows"]) == 240
    asked = {"run": str(plain), "keep": 0.5}
    assert same_rows(tmp_path / "best", tw.augment(with_copies(tiny_corpus()), "filter", settings=asked))
    assert run([*arguments, "--out", str(tmp_path / "seen")]) == 0
    assert "diversity up to  new rows  consistency up to  new rows" in capsys.readouterr().out


def test_without_a_run_a_model_is_trained_on_the_original_rows(more, tmp_path):
    settings = ["--set", "scorer.model=label-matcher", "--set", "act=weight", "--format", "parquet", "-q"]
    assert run(["filter", str(more), "--out", str(tmp_path / "weighed"), *settings]) == 0
    weighed = tw.read(tmp_path / "weighed").train
    assert len(weighed) == 360
    assert (weighed.weights[:120] == 1).all()
    assert len(np.unique(weighed.weights)) > 2


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "found no training rows that an augmentation made, expected what `tailwright augment` writes"),
        (["--keep", "1.5"], "keep must be in (0, 1], got 1.5"),
        (["--set", "kep=0.5"], "unknown setting 'kep'; did you mean 'keep'?"),
        (["--set", "eda.rows=all"], "unknown setting 'eda'"),
        (["--format", "jsn"], "unknown format 'jsn'"),
    ],
)
def test_what_is_wrong_with_a_filter_is_one_line(tiny, tmp_path, capsys, arguments, line):
    assert run(["filter", str(tiny), "--out", str(tmp_path / "out"), *arguments]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert line in said
    assert list(tmp_path.iterdir()) == []


def test_augment_takes_several_methods_and_the_short_options(tiny, tmp_path, capsys):
    short, long = tmp_path / "short", tmp_path / "long"
    swapped = ["--method", "eda", "--set", "eda.operations=swap", "--set", "eda.rows=all", "--json", "-q"]
    arguments = ["augment", str(tiny), *swapped]
    assert run([*arguments, "--filter", "--mask", "tail_below=20", "--out", str(short)]) == 0
    result = last_json(capsys)
    assert result["method"] == ["eda", "filter", "mask"]
    assert result["rows_in"] < result["rows_out"] < 2 * result["rows_in"]
    methods = ["--method", "filter", "--method", "mask", "--set", "mask.tail_below=20"]
    assert run([*arguments, *methods, "--out", str(long)]) == 0
    assert tw.read(short).same_as(tw.read(long))
    assert tw.read(short).train.ignored.nnz > 0


def test_label_weights_are_written_and_trained_with(more, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(["augment", str(more), "--mask", "kind=reweight", "--out", str(out), "-q"]) == 0
    expected = tw.augment(with_copies(tiny_corpus()), "mask", settings={"kind": "reweight"})
    assert same_rows(out, expected)
    assert expected.train.label_weights is not None
    plain = ["--model", "popularity", "--augment", "none", "--json", "-q"]
    assert run(["train", str(out), *plain, "--out", str(tmp_path / "run")]) == 0


def test_a_format_without_label_weights_says_that_they_are_lost(more, tmp_path, capsys):
    arguments = ["augment", str(more), "--mask", "kind=reweight", "--format", "xc"]
    assert run([*arguments, "--out", str(tmp_path / "out")]) == 0
    captured = capsys.readouterr()
    assert "label weights" in captured.out + captured.err


def test_reweighting_twice_is_one_line(more, tmp_path, capsys):
    out, again = tmp_path / "out", ["--mask", "kind=reweight", "-q", "--out"]
    assert run(["augment", str(more), *again, str(out)]) == 0
    capsys.readouterr()
    assert run(["augment", str(out), *again, str(tmp_path / "twice")]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "the labels of made rows have weights already, expected mask.kind=reweight only once" in said


def test_a_corpus_that_has_made_rows_can_be_refined_without_adding_any(more, tmp_path):
    assert run(["augment", str(more), "--mask", "--filter", "--out", str(tmp_path / "out"), "-q"]) == 0
    expected = tw.augment(tw.augment(with_copies(tiny_corpus()), "filter"), "mask")
    assert same_rows(tmp_path / "out", expected)


def test_train_takes_the_short_options_behind_what_it_chose(tiny, tmp_path, capsys):
    arguments = ["train", str(tiny), "--model", "linear", "--filter", "--mask", "--mask", "head_labels=2"]
    assert run([*arguments, "--out", str(tmp_path / "run"), "--json", "-q"]) == 0
    assert last_json(capsys)["augment"] == ["gandalf", "filter", "mask"]  # gandalf is what auto chose
    applied = {one.name: one for one in tw.load(tmp_path / "run").augmentations}
    assert applied["mask"].settings["head_labels"] == 2
    assert applied["gandalf"].rows == 11 > -applied["filter"].rows > 0


@pytest.mark.parametrize("command", ["train", "augment"])
def test_nothing_to_refine_is_one_line(tiny, tmp_path, capsys, command):
    none = ["--augment", "none", "--model", "popularity"] if command == "train" else []
    assert run([command, str(tiny), *none, "--filter", "--out", str(tmp_path / "out"), "-q"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "filter acts on rows that methods before it made, and there are none" in said
    assert "expected a method that adds rows before it, such as eda" in said
    assert list(tmp_path.iterdir()) == []


def test_augment_without_a_method_is_one_line(tiny, tmp_path, capsys):
    assert run(["augment", str(tiny), "--out", str(tmp_path / "out")]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "found no --augment, expected one of `tailwright augmenters`" in said


def test_a_forecast_leaves_out_what_adds_no_rows(tiny, capsys):
    assert run(["augment", str(tiny), "--method", "gandalf", "--filter", "--dry-run", "-q"]) == 0
    said = capsys.readouterr().out
    assert "gandalf: at most 11 new rows" in said
    assert "filter: adds no rows, and acts on those that are made; not forecast" in said


def test_the_short_options_fill_in_settings():
    asked = Asked()
    assert asked.refiners(True, ["tail_below=5", "", "kind=mask_all"]) == ["filter", "mask"]
    assert asked.augment_settings == {"mask": {"tail_below": "5", "kind": "mask_all"}}
    assert Asked().refiners(False, None) == []
