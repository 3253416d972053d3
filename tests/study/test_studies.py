"""Every study under studies/ runs by the real command on a toy corpus, with its settings made small."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tiny_encoders import save_reader
from toy_study import toy_corpus, write_data

from tailwright.augmentation import augmenters
from tailwright.models import models
from tailwright.settings import settings_from
from tailwright.study.plan.cells import Cell
from tailwright.study.plan.plan import read_plan
from tailwright.study.run import trial
from tailwright.study.run.exam import Exam

ROOT = Path(__file__).resolve().parent.parent.parent
STUDIES = sorted(path for path in (ROOT / "studies").glob("*.toml") if path.name != "claims.toml")
# What keeps a training on a toy corpus short, by model.
SMALL = {
    "astec": {"width": 16, "surrogate.epochs": 1, "extreme.epochs": 1, "rerank.epochs": 1},
    "decaf": {"width": 16, "batch": 16, "surrogate.epochs": 2, "meta.epochs": 2, "extreme.epochs": 2},
    "eclare": {"width": 16, "batch": 16, "surrogate.epochs": 2, "meta.epochs": 2, "extreme.epochs": 2},
    "inceptionxml": {"width": 64, "channels": 8, "batch": 16, "epochs": 4, "rate": 1e-2},
    "inceptionxml-lf": {"width": 64, "channels": 8, "batch": 16, "epochs": 3, "free_epochs": 2, "rate": 1e-2},
    "linear": {"trees": 1},
    "twin": {"width": 16, "epochs": 1},
    "xml-cnn": {
        "width": 16,
        "vectors": "random",
        "filters": 8,
        "bottleneck": 16,
        "epochs": 4,
        "rate": 1e-2,
    },
    "attentionxml": {
        "width": 16,
        "hidden": 8,
        "vectors": "random",
        "rate": 2e-2,
        "epochs": 4,
        "level_epochs": (),
        "restart": 3,
    },
}
ON_AN_ENCODER = {"roberta", "la-roberta", "lightxml"}
ENCODED = {"epochs": 4, "restart": 3, "batch": 16, "rate": 3e-3, "head_rate": 3e-2}
SMALL |= dict.fromkeys(ON_AN_ENCODER, ENCODED)
SETTING = re.compile(r"^([a-z_]+|\"[^\"]+\") = ")


LONG = {"gandalf", "gda", "mixups", "xda"}  # up to seven models with eight augmentations: half a minute


def every_study(check):
    return pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)(check)


def every_training(check):
    marked = [pytest.param(path, marks=pytest.mark.slow if path.stem in LONG else ()) for path in STUDIES]
    return pytest.mark.parametrize("path", marked, ids=[path.stem for path in STUDIES])(check)


@pytest.fixture
def planned(path, monkeypatch, tmp_path):
    monkeypatch.setenv("TAILWRIGHT_DATA", str(tmp_path))
    return read_plan(path)


def test_there_are_studies():
    assert {"label-texts", "demo", "search", "weights"} <= {path.stem for path in STUDIES}


@every_study
def test_every_line_of_a_study_is_explained(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    bare = [
        line
        for before, line in zip(["", *lines], lines, strict=False)
        if (SETTING.match(line) or line.startswith("["))
        and "#" not in line
        and not before.startswith(("#", "["))
    ]
    # `title`, and `method` below a name that says the same, explain themselves.
    assert [
        line for line in bare if not line.startswith(("title", "path", "seeds = {", "soft", "[datasets]"))
    ] == []


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    """As many layers as lightxml reads."""
    return str(save_reader(tmp_path_factory.mktemp("encoder") / "bert", layers=4))


def made_small(cell: Cell, encoder: str) -> Cell:
    on = {"encoder": encoder} if cell.model in ON_AN_ENCODER else {}
    return Cell(
        **{
            **cell.as_dict(),
            "fraction": 1.0,
            "settings": {**cell.settings, **SMALL.get(cell.model, {}), **on},
            "augment_settings": {
                name: {**cell.augment_settings.get(name, {}), **augmenters.get(name).quick}
                for name in cell.augment
            },
            "search": {name: values[:2] for name, values in cell.search.items()},
        }
    )


@every_training
@pytest.mark.usefixtures("own_long_work")
def test_a_study_trains_on_a_toy_corpus(path, planned, encoder, tmp_path):
    """One cell of each model with each augmentation, as a worker would; ensembles are tested apart.

    Models that differ only in what is made small here are trained once.
    """
    exam = Exam("toy", toy_corpus())
    trained = [cell for cell in reversed(planned.listed) if not cell.ensemble]
    cells = {(cell.system, cell.augmentation): cell for cell in trained}
    assert any(cell.augment for cell in cells.values())
    small = [made_small(cell, encoder) for cell in cells.values()]
    for key, cell in {cell.key("toy", "code"): cell for cell in small}.items():
        outcome = trial.tried(cell, key, exam, tmp_path / key, curves=planned.curves)
        assert outcome.metrics["P@1"] > 0, cell.title
        assert set(outcome.chosen) == set(cell.search)


def test_label_texts_is_the_study_that_it_says(monkeypatch, tmp_path):
    monkeypatch.setenv("TAILWRIGHT_DATA", str(tmp_path))
    plan = read_plan(ROOT / "studies" / "label-texts.toml")
    seeds: dict = {}
    for cell in plan.listed:
        seeds.setdefault((cell.dataset, cell.fraction), set()).add(cell.seed)
    assert seeds == {
        ("winapi-seealso", 0.05): {0},
        ("winapi-seealso", 1.0): {0, 1, 2},
        ("tibkat-keywords-titles", 0.05): {0},
        ("tibkat-keywords-titles", 1.0): {0},
        ("cve-libraries", 0.05): {0, 1, 2},
        ("cve-libraries", 1.0): {0, 1, 2},
    }
    assert {cell.model for cell in plan.listed} == {"linear", "twin", "astec"}
    assert [line.partition(":")[0] for line in plan.left_out] == [
        "linear x labelmix",
        "linear x labelmix w/o SA",
    ]


def test_the_settings_of_astec_are_those_of_its_benchmark(monkeypatch, tmp_path):
    from bench_astec import QUICK

    monkeypatch.setenv("TAILWRIGHT_DATA", str(tmp_path))
    plan = read_plan(ROOT / "studies" / "label-texts.toml")
    kind = models.get("astec").Settings
    (settings,) = {repr(settings_from(kind, c.settings)) for c in plan.listed if c.model == "astec"}
    assert settings == repr(settings_from(kind, QUICK))


def test_a_study_over_data_that_is_nowhere_names_the_variable(monkeypatch):
    monkeypatch.delenv("TAILWRIGHT_DATA", raising=False)
    with pytest.raises(Exception, match=r"\$TAILWRIGHT_DATA is not set, expected that environment variable"):
        read_plan(ROOT / "studies" / "label-texts.toml")


@pytest.mark.slow
def test_the_demo_study_runs_by_the_real_command(tmp_path, capsys):
    from tailwright.cli import run

    text = (ROOT / "studies" / "demo.toml").read_text(encoding="utf-8")
    text = text.replace('"demo:5000"', f'"{write_data(tmp_path / "data")}"').replace("[0, 1]", "[0]")
    (tmp_path / "demo.toml").write_text(text.replace("[0.1, 1.0]", "[1.0]"), encoding="utf-8")
    arguments = ["study", str(tmp_path / "demo.toml"), "--out", str(tmp_path / "s"), "-q"]
    assert run([*arguments, "--only", "linear"]) == 0
    assert "2 of 2 cells are finished, 0 failed" in capsys.readouterr().out
    assert "not run yet" in (tmp_path / "s" / "tables.md").read_text(encoding="utf-8")
