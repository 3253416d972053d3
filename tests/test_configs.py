"""Every example in configs/ trains by the real command, and says nothing that is not so.

A line `# name = value` in an example shows a setting at its default; the files are read once more with these
lines switched on, so that a default that has moved or a setting that has gone is found.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tiny_encoders import save_reader

import tailwright as tw
from tailwright.augmentation import augmenters
from tailwright.augmentation.xda import Xda
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.cli.config import Asked, read_config
from tailwright.data import Corpus
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.runs.choice import choose
from tailwright.settings import settings_from, settings_table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CONFIGS = sorted((Path(__file__).resolve().parent.parent / "configs").glob("*.toml"))
SWITCHED_OFF = re.compile(r"^# (?=[a-z_]+ = )")
NAME = re.compile(r"^(?:# )?([a-z_]+) = ")
# What keeps a training on a toy corpus short, by model.
SMALL = {
    "astec": ["width=16", "surrogate.epochs=2", "extreme.epochs=2", "rerank.epochs=2"],
    "decaf": ["width=16", "surrogate.epochs=2", "meta.epochs=2", "extreme.epochs=2"],
    "eclare": ["width=16", "surrogate.epochs=2", "meta.epochs=2", "extreme.epochs=2"],
    "linear": ["trees=1"],
    "twin": ["width=16", "epochs=1"],
    "attentionxml": ["epochs=4", "batch=16", "width=16", "hidden=8", "vectors=random", "rate=0.02"],
}
ON_AN_ENCODER = {"roberta", "la-roberta", "lightxml"}
# What keeps the making of rows short, by augmentation.
SMALL_ROWS = {"xda": [f"xda.{name}={value}" for name, value in Xda.quick.items()]}
SMALL |= {name: ["epochs=2", "batch=16", "rate=3e-3", "head_rate=3e-2"] for name in ON_AN_ENCODER}


@pytest.fixture(scope="module")
def toy() -> Corpus:
    corpus = tiny_corpus()
    train, test = corpus.train.split(0.25)
    return Corpus(train, corpus.labels, test=test)


@pytest.fixture(scope="module")
def files(toy, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "toy"
    tw.write(toy, folder, format="jsonl")
    return folder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    """As many layers as lightxml reads."""
    return str(save_reader(tmp_path_factory.mktemp("encoder") / "bert", layers=4))


def every_file(check: Any) -> Any:
    return pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)(check)


def defaults_shown(path: Path) -> dict[str, Any]:
    """The content of the file if only its switched-off lines were on: top level and tables."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            lines.append(line)
        elif SWITCHED_OFF.match(line):
            lines.append(SWITCHED_OFF.sub("", line))
    return tomllib.loads("\n".join(lines))


def default_of(kind: type, name: str) -> Any:
    default = getattr(kind(), name)
    return "none" if default is None else default


def with_dots(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by name, those of a table within with its name and a dot before their own."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        inner = (
            with_dots(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
        )
        found.update(inner)
    return found


def is_default(kind: type, name: str, value: Any) -> bool:
    """Whether it is the value of the only setting of that name, or of that last part of its name."""
    defaults = [one.default for one in settings_table(kind) if f".{one.name}".endswith(f".{name}")]
    return ["none" if default is None else default for default in defaults] == [value]


def wrong_defaults(shown: dict[str, Any], model: str) -> list[str]:
    """The switched-off lines that are no setting, or not at its default."""
    found = []
    kinds = {"settings": models.get(model).Settings}
    for table, values in shown.items():
        if not isinstance(values, dict):
            if default_of(Asked, table) != values:
                found.append(f"{table} = {values}")
            continue
        kind = kinds.get(table) or augmenters.get(table).Settings
        found += [
            f"{table}: {name} = {value}"
            for name, value in with_dots(values).items()
            if not is_default(kind, name, value)
        ]
    return found


def test_there_are_examples():
    assert {"short-text.toml", "linear-gandalf.toml", "twin.toml"} <= {path.name for path in CONFIGS}


@every_file
@pytest.mark.usefixtures("own_long_work")
def test_an_example_trains_by_the_real_command(path, toy, files, encoder, tmp_path, capsys):
    asked = read_config(path)
    chosen = choose(toy, asked.model, asked.augment)
    settings = SMALL.get(chosen.model, [])
    if chosen.model in ON_AN_ENCODER:
        settings = [*settings, f"encoder={encoder}"]
    settings = [*settings, *(setting for name in chosen.augment for setting in SMALL_ROWS.get(name, []))]
    small = [part for setting in settings for part in ("--set", setting)]
    arguments = ["train", str(files), "--out", str(tmp_path / "run"), "--config", str(path), *small]
    assert run([*arguments, "--json", "--quiet"]) == 0, capsys.readouterr().err
    result = json.loads(capsys.readouterr().out)
    assert (result["model"], result["augment"]) == (chosen.model, list(chosen.augment))
    assert result["metrics"]["P@1"] > 0


@every_file
def test_every_setting_that_is_shown_exists_and_has_the_default_that_is_shown(path, toy):
    asked = read_config(path)
    chosen = choose(toy, asked.model, asked.augment)
    assert wrong_defaults(defaults_shown(path), chosen.model) == []
    settings_from(models.get(chosen.model).Settings, asked.settings)
    for name, values in asked.augment_settings.items():
        assert name in asked.augment, f"[{name}] has no effect"
        settings_from(augmenters.get(name).Settings, values)


@every_file
def test_every_line_of_an_example_is_explained(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    bare = [
        line
        for before, line in zip(["", *lines], lines, strict=False)
        if NAME.match(line) and "#" not in line.removeprefix("#") and not before.startswith("#")
    ]
    # `model` is what the words at the top of a file are about.
    assert [line for line in bare if not line.startswith("model")] == []


@pytest.mark.parametrize("name", ["linear", "twin"])
def test_one_example_shows_every_setting_of_a_model(name):
    shown = {
        setting
        for path in CONFIGS
        if read_config(path).model == name
        for setting in {**defaults_shown(path).get("settings", {}), **read_config(path).settings}
    }
    assert {field.name for field in dataclasses.fields(models.get(name).Settings)} == shown


@pytest.mark.parametrize(
    "line", ["# trees = 4", "# tree = 3", "# trees = 3\n[gandalf]\n# soft = false", "# trees = '3'"]
)
def test_a_default_that_has_moved_is_found(line, tmp_path):
    (tmp_path / "c.toml").write_text(f"[settings]\n{line}   # why\n")
    assert len(wrong_defaults(defaults_shown(tmp_path / "c.toml"), "linear")) == 1


def test_a_table_of_no_augmentation_is_found():
    with pytest.raises(InputError, match="did you mean 'gandalf'"):
        wrong_defaults({"gandalff": {"soft": True}}, "linear")
