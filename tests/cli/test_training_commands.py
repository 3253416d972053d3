"""`train`, `evaluate`, `predict`, `augment` as a user meets them."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.cli.config import Asked, read_config
from tailwright.data import Corpus
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.models.fusion import settings_of
from tailwright.models.popularity import Popularity
from tailwright.settings import Settings, setting, settings_from


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    """The tiny corpus with a test split, as files."""
    corpus = tiny_corpus()
    train, test = corpus.train.split(0.25)
    folder = tmp_path_factory.mktemp("data") / "tiny"
    tw.write(Corpus(train, corpus.labels, test=test), folder, format="jsonl")
    return folder


@pytest.fixture(scope="module")
def trained(tiny, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    assert (
        run(["train", str(tiny), "--out", str(out), "--model", "label-matcher", "--augment", "none", "-q"])
        == 0
    )
    return out


def last_json(capsys) -> dict:
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_train_ends_with_what_the_contract_names(tiny, tmp_path, capsys):
    arguments = ["train", str(tiny), "--out", str(tmp_path / "run"), "--model", "popularity", "--json"]
    assert run([*arguments, "--augment", "gandalf", "--seed", "3"]) == 0
    result = last_json(capsys)
    assert (result["model"], result["augment"]) == ("popularity", ["gandalf"])
    assert isinstance(result["train_seconds"], float)
    assert result["peak_rss_mb"] > 1
    assert {"P@1", "PSP@5", "R@10", "slices"} <= result["metrics"].keys()
    assert tw.load(tmp_path / "run").seed == 3


def test_evaluate_gives_the_same_metrics_as_train(tiny, trained, capsys):
    assert run(["evaluate", str(trained), str(tiny), "--json"]) == 0
    metrics = last_json(capsys)["metrics"]
    assert metrics == tw.evaluate(tw.load(trained), tw.read(tiny).test)
    assert run(["evaluate", str(trained), str(tiny), "--propensity", "amazon", "--split", "train"]) == 0
    assert "label-matcher on 90 train rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--split", "valid"], "found no valid rows, expected one of train, test"),
        (["--propensity", "amazonn"], "unknown propensity 'amazonn'; did you mean 'amazon'?"),
    ],
)
def test_evaluate_names_what_is_wrong(tiny, trained, capsys, arguments, line):
    assert run(["evaluate", str(trained), str(tiny), *arguments]) == 2
    assert line in capsys.readouterr().err


def test_evaluate_refuses_other_labels(trained, tmp_path, capsys):
    (tmp_path / "train.jsonl").write_text('{"text": "x", "labels": ["a"]}\n' * 4)
    assert run(["evaluate", str(trained), str(tmp_path / "train.jsonl")]) == 2
    assert "found 1 labels, expected the 11 labels of" in capsys.readouterr().err


def test_predict_from_arguments_a_file_and_standard_input(trained, tmp_path, capsys, monkeypatch):
    (tmp_path / "texts.txt").write_text("guitar\nharbour\n")
    assert (
        run(["predict", str(trained), "apple", "--input", str(tmp_path / "texts.txt"), "--k", "1", "--json"])
        == 0
    )
    said = last_json(capsys)["predictions"]
    assert [row["names"] for row in said] == [["apple things"], ["guitar things"], ["harbour things"]]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"zzz\n")))
    assert run(["predict", str(trained), "--input", "-"]) == 0
    assert capsys.readouterr().out == "zzz\n  nothing fits\n"


def test_predict_without_a_text_or_with_bad_bytes_is_one_line(trained, tmp_path, capsys):
    assert run(["predict", str(trained)]) == 2
    assert "found no text" in capsys.readouterr().err
    (tmp_path / "texts.txt").write_bytes(b"good\n\xff\n")
    assert run(["predict", str(trained), "--input", str(tmp_path / "texts.txt")]) == 2
    assert "texts.txt:2: found bytes that are not UTF-8" in capsys.readouterr().err


def test_augment_writes_rows_that_other_trainers_can_read(tiny, tmp_path, capsys):
    arguments = ["augment", str(tiny), "--method", "gandalf", "--out", str(tmp_path / "out"), "--json"]
    assert run([*arguments, "--binarise", "0.5", "--format", "xc"]) == 0
    result = last_json(capsys)
    assert result["rows_out"] == result["rows_in"] + 11
    assert "soft targets" not in result["lost"]
    assert (tmp_path / "out" / "trn_X_Y.txt").read_text().startswith(f"{result['rows_out']} 11\n")


def test_augment_keeps_soft_labels_and_takes_settings(tiny, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(["augment", str(tiny), "--method", "gandalf", "--out", str(out), "--json"]) == 0
    soft = tw.read(out).train
    assert ((soft.targets.data > 0) & (soft.targets.data < 1)).any()
    assert len(soft.originals()) == 90
    hard = ["augment", str(tiny), "--method", "gandalf", "--out", str(tmp_path / "hard"), "--json"]
    assert run([*hard, "--set", "gandalf.soft=false"]) == 0
    assert (tw.read(tmp_path / "hard").train.targets.data == 1).all()
    assert run([*hard, "--set", "soft=false"]) == 2
    assert "expected METHOD.NAME=VALUE" in capsys.readouterr().err


def test_labelmix_trains_with_twin_and_is_one_line_elsewhere(tiny, tmp_path, capsys):
    arguments = ["train", str(tiny), "--augment", "labelmix", "--json", "--set", "labelmix.probability=0.9"]
    quick = ["--set", "epochs=1", "--set", "width=16"]
    assert run([*arguments, *quick, "--model", "twin", "--out", str(tmp_path / "run")]) == 0
    assert last_json(capsys)["augment"] == ["labelmix"]
    assert tw.load(tmp_path / "run").augment == ("labelmix",)
    assert run([*arguments, "--model", "linear", "--out", str(tmp_path / "other")]) == 2
    assert "linear cannot be trained with labelmix" in capsys.readouterr().err
    # Said before anything is read: there is no such corpus.
    assert run(["augment", "nowhere", "--method", "labelmix", "--out", str(tmp_path / "rows")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert (
        "it works during training, at the batch door (batches changed while training), "
        "expected `tailwright train --augment labelmix`" in lines[0]
    )


@pytest.fixture
def small_twin() -> list[str]:
    return [part for name in ("epochs=1", "batch=32") for part in ("--set", f"twin.{name}")]


def test_settings_of_parts_reach_them_by_the_command_line(tiny, tmp_path, capsys, small_twin):
    sets = ["--set", "linear.trees=2", "--set", "twin.width=64", "--set", "candidates=9", *small_twin]
    assert run(["train", str(tiny), "--out", str(tmp_path / "run"), *sets, "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out.splitlines()[-1])["model"] == "linear+twin+label-matcher"
    assert "model linear+twin+label-matcher: 100% of the labels have a text" in said.err
    model = tw.load(tmp_path / "run").model
    assert (model.settings.candidates, model.settings.linear.trees, model.settings.twin.width) == (9, 2, 64)
    linear, twin, _ = model.parts
    assert len(linear.forest.roots) == 2
    assert twin.vectors.labels.shape[1] == 64


def test_settings_of_parts_reach_them_by_a_configuration_file(tiny, tmp_path, capsys, small_twin):
    config = tmp_path / "c.toml"
    config.write_text('augment = ["gandalf"]\n[gandalf]\nsoft = false\n[linear]\ntrees = 2\n')
    arguments = ["train", str(tiny), "--config", str(config), "--json", *small_twin]
    assert run([*arguments, "--out", str(tmp_path / "run")]) == 0
    assert last_json(capsys)["augment"] == ["gandalf"]
    assert len(tw.load(tmp_path / "run").model.parts[0].forest.roots) == 2


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--set", "linear.tree=2"], "unknown setting 'tree'; did you mean 'trees'?"),
        (["--set", "twin.width=0"], "width must be in [1, 65536], got 0"),
        (["--set", "linear=2"], "setting linear: found '2', expected linear.NAME=VALUE"),
        (["--set", "candidate=9"], "unknown setting 'candidate'; did you mean 'candidates'?"),
        (["--model", "linear+twn"], "unknown model 'twn'; did you mean 'twin'?"),
        (["--model", "twin+twin"], "twin+twin names a model twice"),
    ],
)
def test_a_wrong_setting_of_a_part_is_one_line(tiny, tmp_path, capsys, arguments, line):
    assert run(["train", str(tiny), "--out", str(tmp_path / "run"), *arguments, "-q"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert line in lines[0]
    assert list(tmp_path.iterdir()) == []


def test_settings_under_the_name_of_a_part_are_the_models():
    asked = Asked(settings={"candidates": "9"}, augment_settings={"gandalf": {"soft": "false"}})
    asked.set("linear.trees=2")
    asked.set("label-matcher.x=1")
    asked.sort_out("linear+label-matcher")
    assert asked.settings == {"candidates": "9", "linear": {"trees": "2"}, "label_matcher": {"x": "1"}}
    assert asked.augment_settings == {"gandalf": {"soft": "false"}}


def test_settings_join_a_table_that_is_there_already():
    asked = Asked(settings={"linear": {"beam": 5, "trees": 1}})
    asked.set("linear.trees=2")
    asked.sort_out("linear+twin")
    assert asked.settings == {"linear": {"beam": 5, "trees": "2"}}


def test_settings_under_the_name_of_the_model_itself_are_its_own():
    asked = Asked()
    asked.set("linear.trees=2")
    asked.sort_out("linear")
    assert asked.settings == {"trees": "2"}
    assert asked.augment_settings == {}


def test_an_unknown_owner_is_a_near_miss_of_parts_and_augmentations():
    for owner, meant in (("lineer", "linear"), ("gandalph", "gandalf")):
        asked = Asked()
        asked.set(f"{owner}.trees=2")
        with pytest.raises(InputError, match=f"unknown owner of settings '{owner}'; did you mean '{meant}'"):
            asked.sort_out("linear+twin")


@dataclass(frozen=True)
class ShortlistToy(Settings):
    size: int = setting(100, "labels of a shortlist", least=1)
    kind: Literal["near", "far"] = setting("near", "which labels")


@dataclass(frozen=True)
class NestedToy(Settings):
    epochs: int = setting(3, "rounds over the rows", least=1)
    shortlist: ShortlistToy = setting(ShortlistToy(), "how labels are shortlisted")


@pytest.fixture
def nested(monkeypatch):
    """A popularity model with settings in a group."""
    monkeypatch.setattr(Popularity, "Settings", NestedToy)


@pytest.mark.parametrize(
    ("arguments", "content"),
    [
        (["--set", "shortlist.size=200"], ""),
        (["--set", "popularity.shortlist.size=200"], ""),
        (["--set", "size=200"], ""),
        ([], "[settings.shortlist]\nsize = 200\n"),
        ([], "[shortlist]\nsize = 200\n"),
        ([], "[popularity.shortlist]\nsize = 200\n"),
        (["--set", "shortlist.size=200"], "[settings.shortlist]\nsize = 7\n"),
    ],
)
def test_settings_of_a_group_reach_the_model(tiny, tmp_path, capsys, nested, arguments, content):
    config = tmp_path / "c.toml"
    config.write_text(f'model = "popularity"\naugment = ["none"]\n{content}')
    out = ["--out", str(tmp_path / "run"), "--config", str(config), "-q"]
    assert run(["train", str(tiny), *out, "--set", "epochs=5", *arguments]) == 0
    assert tw.load(tmp_path / "run").model.settings == NestedToy(5, ShortlistToy(200))


@pytest.mark.parametrize(
    ("assignment", "line"),
    [
        ("shortlst.size=200", "unknown owner of settings 'shortlst'; did you mean 'shortlist'?"),
        ("shortlist.sze=200", "unknown setting 'sze'; did you mean 'size'?"),
        ("shortlist.size=0", "size must be >= 1, got 0"),
        ("shortlist=3", "setting shortlist: found '3', expected shortlist.NAME=VALUE"),
    ],
)
def test_a_wrong_setting_of_a_group_is_one_line(tiny, tmp_path, capsys, nested, assignment, line):
    arguments = ["train", str(tiny), "--out", str(tmp_path / "run"), "--model", "popularity", "-q"]
    assert run([*arguments, "--set", assignment]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert line in said
    assert list(tmp_path.iterdir()) == []


def test_settings_of_a_group_of_a_part_reach_it(monkeypatch, nested):
    monkeypatch.setattr("tailwright.models.fusion.settings_of", settings_of.__wrapped__)
    for name in ("shortlist.size", "popularity.shortlist.size"):
        asked = Asked()
        asked.set(f"{name}=200")
        asked.sort_out("popularity+label-matcher")
        found = settings_from(models.settings("popularity+label-matcher"), asked.settings)
        assert found.popularity.shortlist.size == 200


def test_a_model_lists_its_settings_with_groups_and_bounds(capsys, nested):
    assert run(["models", "popularity", "--json"]) == 0
    listed = {one["name"]: one for one in last_json(capsys)["settings"]}
    assert listed["shortlist.size"] == {
        "name": "shortlist.size",
        "default": 100,
        "meaning": "labels of a shortlist",
        "takes": ">= 1",
    }
    assert listed["shortlist.kind"]["takes"] == "near or far"
    assert run(["models", "popularity"]) == 0
    assert "shortlist.size" in capsys.readouterr().out


def test_a_configuration_file_is_read_and_options_go_before_it(tiny, tmp_path, capsys):
    config = tmp_path / "c.toml"
    config.write_text('model = "popularity"\naugment = ["gandalf"]\nseed = 4\n[gandalf]\nsoft = false\n')
    arguments = ["train", str(tiny), "--config", str(config), "--json", "--out"]
    assert run([*arguments, str(tmp_path / "a")]) == 0
    result = last_json(capsys)
    assert (result["model"], result["augment"], tw.load(tmp_path / "a").seed) == (
        "popularity",
        ["gandalf"],
        4,
    )
    assert run([*arguments, str(tmp_path / "b"), "--seed", "5", "--model", "label-matcher"]) == 0
    assert last_json(capsys)["model"] == "label-matcher"
    assert tw.load(tmp_path / "b").seed == 5


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("modell = 'x'\n", "unknown key 'modell'; did you mean 'model'?"),
        ("seed = 'x'\n", "found 'x', expected seed to be a int"),
        ("model = \n", "found no TOML"),
    ],
)
def test_a_bad_configuration_file_is_one_line(tmp_path, content, line):
    (tmp_path / "c.toml").write_text(content)
    with pytest.raises(InputError) as caught:
        read_config(tmp_path / "c.toml")
    assert line in str(caught.value)
    assert str(tmp_path / "c.toml") in str(caught.value)


def test_settings_on_the_command_line():
    asked = Asked()
    asked.set("trees=3")
    asked.set("gandalf.soft = false")
    assert (asked.settings, asked.augment_settings) == ({"trees": "3"}, {"gandalf": {"soft": "false"}})
    with pytest.raises(InputError, match="expected name=value"):
        asked.set("trees")
