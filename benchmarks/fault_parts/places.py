"""What all parts stand on, made once: tiny corpora, a tiny encoder, and a run of every model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiny_encoders import save_reader

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.corpus import Corpus
from tailwright.models import models
from tailwright.settings import settings_table

PLAN = """
title = "faults"
[datasets]
tiny = "data"
[models.popularity]
[augmentations.gandalf]
"""
# By the last part of a setting's name: whatever model has such a setting is as small as can be.
SMALL: dict[str, Any] = {
    "epochs": 2,
    "free_epochs": 1,
    "meta_epochs": 0,
    "trees": 2,
    "learners": 1,
    "width": 64,
    "channels": 4,
    "filters": 4,
    "bottleneck": 8,
    "hidden": 8,
    "layers": "8",
    "max_length": 12,
    "max_tokens": 16,
    "steps": 5,
    "average_from": "none",
}


def small_settings(name: str, place: Path) -> dict[str, Any]:
    """The settings with which a model of the registry is trained within a second."""
    small = {**SMALL, "encoder": str(place / "reader")}
    names = [setting.name for setting in settings_table(models.settings(name))]
    return {one: small[last] for one in names if (last := one.rpartition(".")[2]) in small}


def set_words(settings: Mapping[str, Any]) -> list[str]:
    """The settings as options of a command."""
    return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


def names_at(place: Path) -> list[str]:
    """The models that there are runs of."""
    return sorted(path.name for path in (place / "runs").iterdir())


def run_of(name: str, place: Path) -> Path:
    """Where the run of a model is."""
    return place / "runs" / name


def prepare(place: Path, names: Sequence[str]) -> None:
    """Make all of it. For a process of its own: who forks from one that has computed may hang."""
    corpus = tiny_corpus()
    train, test = corpus.train.split(0.25)
    tw.write(Corpus(train, corpus.labels, test=test), place / "data", format="jsonl")
    tw.write(tiny_corpus(40, seed=1), place / "more", format="jsonl")
    tw.write(tw.augment(corpus, "eda", settings={"rows": "all"}), place / "made", format="jsonl")
    (place / "texts.txt").write_text("\n".join(corpus.train.texts.to_pylist() * 20), encoding="utf-8")
    labels = [{"id": f"new{number}", "text": f"word{number} things"} for number in range(3)]
    (place / "labels.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    (place / "plan.toml").write_text(PLAN)
    if any(models.card(name).extra for name in names):
        save_reader(place / "reader", layers=4)  # as many as lightxml reads
    for name in names:
        tw.train(
            Corpus(train, corpus.labels), name, settings=small_settings(name, place), out=run_of(name, place)
        )
