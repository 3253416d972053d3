"""`tailwright augment --dry-run`: what it will take, and nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tailwright as tw
from tailwright.augmentation import augmenter
from tailwright.augmentation.gda import Gda
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run

QUICK = [part for name, value in Gda.quick.items() for part in ("--set", f"gda.{name}={value}")]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "tiny"
    tw.write(tiny_corpus(), folder, format="jsonl")
    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TAILWRIGHT_SHARED", raising=False)


def test_the_numbers_are_those_of_the_rows_that_are_then_written(tiny, tmp_path, capsys):
    swap = ["--set", "eda.operations=swap", "--set", "eda.rows=all"]
    both = ["augment", str(tiny), "--method", "gandalf", "--method", "eda", *swap, "--json", "-q"]
    assert run([*both, "--dry-run"]) == 0
    said = json.loads(capsys.readouterr().out)
    rows = {name: forecast["rows"] for name, forecast in said["forecast"].items()}
    assert said["rows_in"] == 120
    assert rows["gandalf"] == said["forecast"]["gandalf"]["sources"] == 11
    assert all(f["machine_hours"] == f["seconds"] / 3600 for f in said["forecast"].values())
    assert run([*both, "--out", str(tmp_path / "out")]) == 0
    assert json.loads(capsys.readouterr().out)["rows_out"] == 120 + sum(rows.values())


def test_gda_says_pairs_texts_time_memory_and_disk(tiny, capsys):
    assert run(["augment", str(tiny), "--method", "gda", *QUICK, "--dry-run", "-q"]) == 0
    said = capsys.readouterr().out
    assert "gda: at most 12 new rows from 12 sources" in said
    assert "machine-hours)" in said
    assert "MB of memory" in said
    assert "tuning: 16 pairs of" in said
    assert "writing: 12 texts" in said


def test_rows_of_no_weight_are_not_counted(tiny, capsys):
    arguments = ["augment", str(tiny), "--method", "gandalf", "--set", "gandalf.weight=0", "--dry-run", "-q"]
    assert run([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["forecast"]["gandalf"]["rows"] == 0
    assert run(arguments) == 0
    assert "weight is 0: no rows are added" in capsys.readouterr().out


def test_nothing_is_written_even_with_out(tiny, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(["augment", str(tiny), "--method", "gandalf", "--out", str(out), "--dry-run", "-q"]) == 0
    assert not out.exists()


def test_without_out_and_without_dry_run_it_is_one_line(tiny, capsys):
    assert run(["augment", str(tiny), "--method", "gandalf"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["tailwright: found no --out, expected a folder to write, or --dry-run"]


def test_a_forecast_takes_no_longer_way_than_the_rows_for_a_quick_method():
    forecast = augmenter("gandalf").forecast(tiny_corpus(), seed=1)  # type: ignore[attr-defined]
    assert (forecast.sources, forecast.rows, forecast.lines) == (11, 11, ())
    assert forecast.disk_mb > 0
