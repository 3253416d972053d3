"""A run is pushed to the hub and loaded from it as it was, without a path of the machine that trained it."""

from __future__ import annotations

import copy
import json
import time
from dataclasses import dataclass, replace

import pytest
from hub_stand_in import served

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run as command
from tailwright.data import Corpus
from tailwright.errors import InputError, MissingExtraError
from tailwright.runs.facts import AppliedAugmentation, LaterStep, TrainingData
from tailwright.runs.hub import without_paths
from tailwright.runs.run import Run, read_facts
from tailwright.settings import Settings, setting

constants = pytest.importorskip("huggingface_hub.constants")


@pytest.fixture(scope="module")
def trained() -> Run:
    corpus = tiny_corpus()
    train, test = corpus.train.split(0.25)
    whole = replace(Corpus(train, corpus.labels, test=test), source="/home/jo/secret/shop.csv?text=title")
    run = tw.train(whole, "label-matcher", callbacks=[lambda event: None])
    filtered = AppliedAugmentation(name="filter", settings={"run": "/home/jo/secret/f0"}, rows=-3)
    secret = TrainingData(path="/home/jo/secret/labels.csv")
    counts = {"rows_before": 9, "rows_after": 9, "labels_before": 10, "labels_after": 11}
    added = LaterStep(kind="labels", run="/home/jo/secret/run", data=secret, **counts)
    return replace(run, augmentations=(filtered,), later=(added,))


@pytest.fixture
def hub(monkeypatch, tmp_path):
    with served() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.address)
        template = hub.address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf"))
        monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / "cache"))
        yield hub


@pytest.fixture
def pushed(hub, trained) -> str:
    return trained.push_to_hub("jo/shop", token="good")


def test_a_pushed_run_says_what_the_trained_one_said(hub, trained, pushed):
    sha, files = hub.files("jo/shop")
    assert pushed == f"hub:jo/shop@{sha}"
    assert {"README.md", "manifest.json", "run.json"} <= files.keys()
    for address in ("hub:jo/shop", pushed):
        loaded = tw.load(address)
        assert loaded.predict(["an apple", ""], k=3) == trained.predict(["an apple", ""], k=3)
        assert loaded.measured == trained.measured
    assert read_facts("hub:jo/shop").seed == trained.seed


def test_no_path_of_this_machine_is_pushed(hub, trained, pushed, tmp_path):
    _, files = hub.files("jo/shop")
    assert [name for name, content in files.items() if b"secret" in content or b"/home" in content] == []
    facts = json.loads(files["run.json"])
    assert facts["data"] == {"path": "shop.csv", "digest": trained.data.digest}
    assert facts["augment"][0]["settings"] == {"run": "f0"}
    assert (facts["later"][0]["run"], facts["later"][0]["data"]["path"]) == ("run", "labels.csv")
    assert "| data | `shop.csv` |" in files["README.md"].decode()
    trained.save(tmp_path / "kept")
    assert read_facts(tmp_path / "kept").data.path == "/home/jo/secret/shop.csv?text=title"


@dataclass(frozen=True)
class ReaderSettings(Settings):
    encoder: str = setting("minilm", "what reads texts")


def test_a_setting_that_is_a_path_is_pushed_without_its_folders(trained):
    model = copy.copy(trained.model)
    model.settings = ReaderSettings("/home/jo/bert")
    assert without_paths(replace(trained, model=model)).model.settings == ReaderSettings("bert")
    assert model.settings == ReaderSettings("/home/jo/bert")


def test_a_repository_is_private_unless_told_otherwise(hub, trained, pushed):
    assert hub.repositories["jo/shop"].private
    trained.push_to_hub("jo/open", token="good", private=False)
    assert not hub.repositories["jo/open"].private
    with pytest.raises(InputError, match="jo/open is public on the hub, expected private=False"):
        trained.push_to_hub("jo/open", token="good")
    assert len(hub.repositories["jo/open"].commits) == 2


def test_a_second_push_leaves_no_file_of_the_first_and_all_others(hub, trained, pushed):
    _, files = hub.files("jo/shop")
    hub.add("jo/shop", {**files, "model/old.npy": b"old", "LICENSE": b"mine"})
    again = trained.push_to_hub("jo/shop", token="good")
    _, files = hub.files("jo/shop")
    assert "model/old.npy" not in files
    assert files["LICENSE"] == b"mine"
    assert again != pushed
    assert tw.load(again).labels.same_as(trained.labels)


def test_only_files_of_the_manifest_are_downloaded(hub, pushed, tmp_path):
    _, files = hub.files("jo/shop")
    hub.add("jo/shop", {**files, "model/code.py": b"print('run')", "setup.py": b"", "model/big.npy": b"0"})
    tw.load("hub:jo/shop")
    assert set(hub.asked) == files.keys() - {".gitattributes"}
    assert not list((tmp_path / "cache").rglob("*.py"))


def test_a_newer_revision_is_noticed_and_an_older_one_stays(hub, trained, pushed):
    tw.load("hub:jo/shop")
    replace(trained, seed=9).push_to_hub("jo/shop", token="good")
    assert tw.load("hub:jo/shop").seed == 9
    assert tw.load(pushed).seed == trained.seed


def test_a_copy_in_the_cache_answers_when_the_hub_does_not(hub, trained, pushed, monkeypatch, capsys):
    tw.load("hub:jo/shop")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert tw.load("hub:jo/shop").predict(["apple"], k=2) == trained.predict(["apple"], k=2)
    assert command(["predict", "hub:jo/shop", "apple things", "--k", "1"]) == 0
    assert "apple things" in capsys.readouterr().out
    with pytest.raises(InputError, match="jo/other: the hub cannot be reached, expected access to the hub"):
        tw.load("hub:jo/other")


def test_a_hub_that_has_gone_is_one_line(hub, trained, monkeypatch):
    hub.shutdown()
    hub.server_close()
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # huggingface_hub tries again and again
    for call in (lambda: tw.load("hub:jo/shop"), lambda: trained.push_to_hub("jo/shop", token="good")):
        with pytest.raises(InputError, match="jo/shop: the hub cannot be reached"):
            call()


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("hub:jo/none", "no repository jo/none on the hub, expected one that is public"),
        ("hub:jo/bert", "jo/bert on the hub has no manifest.json, expected a run that `push_to_hub` wrote"),
        ("hub:jo/bert@v9", "no revision v9 of jo/bert on the hub, expected a branch, a tag or a commit"),
        ("hub:jo/a--b", "no repository can be called jo/a--b, expected a name that the hub takes"),
        ("hub:shop", "found 'hub:shop', expected hub:user/name or hub:user/name@revision"),
        ("hub:../../etc", "found 'hub:../../etc', expected hub:user/name"),
        ("hub:jo/shop@", "found 'hub:jo/shop@', expected hub:user/name"),
    ],
)
def test_what_is_no_run_on_the_hub_is_one_line(hub, address, line, capsys):
    hub.add("jo/bert", {"config.json": b"{}", "model/weights.safetensors": b"0" * 1000})
    assert command(["predict", address, "a text"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert line in said
    assert hub.asked == []


def test_a_cache_that_cannot_be_written_is_one_line(hub, pushed, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"hub/jo--shop@main: cannot be written \(Not a directory\)"):
        tw.load("hub:jo/shop")


def test_a_changed_file_on_the_hub_is_refused_as_in_any_folder(hub, pushed):
    sha, files = hub.files("jo/shop")
    hub.add("jo/shop", {**files, "labels/counts.npy": files["labels/counts.npy"][:-1] + b"\x07"})
    with pytest.raises(InputError, match=r"counts\.npy: sha256 .* as in the manifest"):
        tw.load("hub:jo/shop")
    assert tw.load(f"hub:jo/shop@{sha}").seed == 0


def test_another_kind_of_folder_is_refused_before_its_files_are_downloaded(hub, pushed):
    _, files = hub.files("jo/shop")
    manifest = json.loads(files["manifest.json"])
    hub.add("jo/shop", {**files, "manifest.json": json.dumps({**manifest, "kind": "checkpoint"}).encode()})
    with pytest.raises(InputError, match="a checkpoint folder, expected a run folder"):
        tw.load("hub:jo/shop")
    assert hub.asked == ["manifest.json"]


@pytest.mark.parametrize("name", ["shop", "../shop", "jo/shop/x", "hub:jo/shop", "jo/sh op"])
def test_a_name_that_no_repository_can_have_is_refused(trained, name):
    with pytest.raises(InputError, match="expected user/name"):
        trained.push_to_hub(name)


def test_a_wrong_token_is_one_line(hub, trained):
    with pytest.raises(InputError, match="jo/shop"):
        trained.push_to_hub("jo/shop", token="bad")
    assert hub.repositories == {}


def test_a_missing_extra_is_one_line(trained, monkeypatch):
    monkeypatch.setattr("tailwright.errors.find_spec", lambda name: None)
    for call in (lambda: tw.load("hub:jo/shop"), lambda: trained.push_to_hub("jo/shop")):
        with pytest.raises(MissingExtraError, match=r"pip install 'tailwright\[hub\]'"):
            call()
