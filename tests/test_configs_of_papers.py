"""The files in configs/ that name a paper ask for what the paper says, or for what its authors ran.

The values are the papers' own and those of their authors' files; each name is a setting of the model, or one
of an augmentation behind its name and a dot. Where a paper is silent, nothing is held.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from tailwright.augmentation import augmenters
from tailwright.cli.config import Asked, read_config
from tailwright.models import models
from tailwright.settings import settings_from

CONFIGS = Path(__file__).resolve().parent.parent / "configs"
# A file names a paper in the lines before its first setting, or by a method in its own name.
NAMES_A_PAPER = re.compile(r"\b(paper|authors)\b")
OF_A_PAPER = ("gandalf", "gda", "labelmix", "tailmix", "official")

GRAPH = {"steps": 400, "restart": 0.8, "top": 10, "head_cut": 500, "method": "walk"}
GANDALF = {"gandalf.threshold": 0.1, **{f"gandalf.{name}": value for name, value in GRAPH.items()}}
GDA_CLASSIFIER = {"encoder": "roberta-large", "epochs": 10, "max_tokens": 512, "frozen": False}
ATTENTION = {
    "tree": "flat",
    "width": 300,
    "max_length": 500,
    "hidden": 256,
    "drop_words": 0.2,
    "drop_states": 0.5,
    "rate": 1e-3,
    "schedule": "constant",
    "warmup": 0.0,
    "epsilon": 1e-8,
    "clip": "adaptive",
    "average_counted": "phase",
    "metric": "nDCG@5",
}
LIGHTXML = {
    "encoder": "bert-base-uncased",
    "start_bias": "random",
    "drop": 0.5,
    "batch": 16,
    "rate": 1e-4,
    "head_rate": 1e-4,
    "schedule": "constant",
    "warmup": 0.0,
    "weight_decay": 0.01,
    "epsilon": 1e-6,
    "clip": None,
    "average_counted": "epoch",
    "frozen": False,
    "head_epochs": 0,
}
XDA = {
    **LIGHTXML,
    "groups": "flat",
    "max_tokens": 512,
    "metric": "P@5",
    "patience": 5,
    "retrain": "auto",
    "start": "reinit",
    "passes": "alternate",
    "retrain_epochs": None,  # as many as the first training
    "retrain_rate": None,  # that of the head
    "xda.generator": "t5-large",
    "xda.selection.rows": "all",
    "xda.mask_share": 0.15,
    "xda.labels_in_prompt": True,
    "xda.prompt": True,
    "xda.tuning.length": 5,
    "xda.tuning.rate": 0.3,
    "xda.tuning.batch": 8,
    "xda.tuning.weight_decay": 1e-5,
    "xda.learning.read_characters": 1000,
    "xda.learning.max_tokens": 128,
    "xda.filling.characters": 500,
    "xda.filling.blanks": 10,
    "xda.filling.repetition_penalty": 2.5,
    "xda.filling.no_repeat": 3,
    "xda.filter": True,
    "xda.filtering.keep": 0.2,
    "xda.filtering.diversity": "bce",
    "xda.filtering.scaling": "minmax",
    "xda.filtering.scorer.model": "auto",
    "xda.mask": True,
    "xda.masking.kind": "mask_pos",
    "xda.weight": 1.0,
}
PAPERS: dict[str, dict[str, Any]] = {
    # AttentionXML, the authors' file for EUR-Lex: 2 x 256 states, 512-256-1.
    "attentionxml-official.toml": {
        **ATTENTION,
        "layers": (256,),
        "learn_words": False,
        "batch": 40,
        "epochs": 30,
        "weight_decay": 0.0,
        "average_from": 10,
        "average_every": 100,
        "validate_every": 100,
        "patience": 50,
    },
    # TailMix: 512-256-128-1 for all datasets; the rest for EUR-Lex.
    "attentionxml-tailmix.toml": {
        **ATTENTION,
        "layers": (256, 128),
        "learn_words": True,
        "batch": 32,
        "epochs": 150,
        "weight_decay": 0.01,
        "average_from": 4,
        "average_every": 300,
        "validate_every": 300,
        "patience": 20,
    },
    "la-roberta-tailmix.toml": {
        "encoder": "roberta-base",
        "max_tokens": 300,
        "frozen": True,
        "head": "shared-mlp",
        "layers": (256, 128),
        "start_bias": "zero",
        "start_labels": "random",
        "batch": 32,
        "epochs": 150,
        "head_rate": 1e-3,
        "schedule": "constant",
        "warmup": 0.0,
        "weight_decay": 0.01,
        "clip": "adaptive",
        "average_from": 4,
        "average_every": 300,
        "average_counted": "phase",
        "validate_every": 300,
        "patience": 20,
        "metric": "nDCG@5",
    },
    # GDA: epochs for all rows.
    "roberta-gda.toml": {**GDA_CLASSIFIER, "rate": 1e-6, "head_rate": 1e-6, "start_labels": "random"},
    "la-roberta-gda.toml": {
        **GDA_CLASSIFIER,
        "head": "label-specific",
        "rate": 5e-6,
        "head_rate": 5e-6,
        "start_labels": "random",
    },
    # Ten beams and GPT-2 are the paper's; the file says that it departs from them, and why.
    "linear-gda.toml": {"gda.strategy": "beam", "gda.weight": 0.5},
    # LightXML: EUR-Lex with the five epochs that its loop adds; Amazon-670K.
    "lightxml-flat.toml": {
        **LIGHTXML,
        "groups": "flat",
        "max_tokens": 512,
        "epochs": 25,
        "average_from": 10,
        "average_every": 200,
    },
    "lightxml-grouped.toml": {
        **LIGHTXML,
        "groups": "grouped",
        "leaf": 100,
        "top_groups": 75,
        "hidden": 400,
        "kept": 100,
        "max_tokens": 128,
        "epochs": 15,
        "average_from": 4,
        "average_every": 3000,
    },
    # XDA: N_t, N_a, the epochs of its T5, then LightXML's with the five that its loop adds.
    "xda-eurlex.toml": {
        **XDA,
        "xda.masking.tail_below": 50,
        "xda.copies": 2,
        "xda.tuning.epochs": 30,
        "batch": 32,
        "epochs": 35,
        "average_from": 10,
        "average_every": 200,
    },
    "xda-wiki10.toml": {
        **XDA,
        "xda.masking.tail_below": 10,
        "xda.copies": 4,
        "xda.tuning.epochs": 30,
        "batch": 32,
        "epochs": 45,
        "average_from": 10,
        "average_every": 300,
    },
    "xda-amazoncat.toml": {
        **XDA,
        "xda.masking.tail_below": 700,
        "xda.copies": 2,
        "xda.tuning.epochs": 5,
        "batch": 16,
        "epochs": 10,
        "average_from": 2,
        "average_every": 10_000,
    },
    # Astec's files for LF-AmazonTitles-131K; `learners` is 1 where its tables have the sum of 3.
    "astec-gandalf.toml": {
        **GANDALF,
        "gandalf.soft": True,
        "width": 300,
        "batch": 255,
        "dropout": 0.5,
        "clusters.count": 65_536,
        "smoothing.steps": 50,
        "smoothing.restart": 0.2,
        "smoothing.top": 10,
        "surrogate.epochs": 20,
        "surrogate.rate": 0.03,
        "surrogate.halve": 14,
        "shortlist.size": 500,
        "shortlist.centroids": 400,
        "shortlist.points": 100,
        "shortlist.point_weight": 0.075,
        "candidates.size": 650,
        "candidates.positives": 20,
        "candidates.random": 170,
        "extreme.epochs": 15,
        "extreme.rate": 0.001,
        "extreme.halve": 14,
        "rerank.epochs": 10,
        "rerank.rate": 0.002,
        "rerank.halve": 8,
        "rerank.weight": 0.6,
        "stored": 200,
        "beta": 0.1,
    },
    # Those of DECAF and ECLARE for the same corpus; `learners` is 1 where their tables have the mean of 3.
    "decaf-gandalf.toml": {
        **GANDALF,
        "gandalf.soft": True,
        "width": 300,
        "batch": 255,
        "clusters.count": 32_768,
        "beam.size": 200,
        "beam.missed": "left out",
        "surrogate.epochs": 20,
        "surrogate.rate": 0.01,
        "surrogate.halve": 10,
        "surrogate_dropout": 0.5,
        "meta.epochs": 10,
        "meta.rate": 0.008,
        "meta.halve": 5,
        "extreme.epochs": 10,
        "extreme.rate": 0.008,
        "extreme.halve": 5,
        "dropout": 0.2,
    },
    "eclare-gandalf.toml": {
        **GANDALF,
        "gandalf.soft": True,
        "width": 300,
        "batch": 255,
        "graph.steps": 400,
        "graph.restart": 0.8,
        "graph.top": 10,
        "graph.head_cut": 500,
        "similar": 0.0,
        "clusters.count": 32_768,
        "clusters.apart": 500,
        "clusters.words": 1000,
        "beam.size": 50,
        "beam.missed": "left out",
        "surrogate.epochs": 20,
        "surrogate.rate": 0.005,
        "surrogate.halve": 10,
        "meta.epochs": 10,
        "meta.rate": 0.004,
        "meta.halve": 5,
        "extreme.epochs": 10,
        "extreme.rate": 0.004,
        "extreme.halve": 5,
        "dropout": 0.2,
    },
    "linear-gandalf.toml": GANDALF,  # without soft annotations, as the file says: the paper's "w/o SA"
    "twin-labelmix.toml": {
        "labelmix.probability": 0.4,
        "labelmix.soft": True,
        "labelmix.threshold": 0.1,
        **{f"labelmix.{name}": value for name, value in GRAPH.items()},
    },
}


def header_of(path: Path) -> str:
    """The lines before the first setting."""
    return path.read_text(encoding="utf-8").partition("\nmodel = ")[0]


def values_of(settings: Any, prefix: str = "") -> dict[str, Any]:
    """Every setting by its whole name."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(settings):
        value, name = getattr(settings, field.name), f"{prefix}{field.name}"
        values |= values_of(value, f"{name}.") if dataclasses.is_dataclass(value) else {name: value}
    return values


def asked_for(asked: Asked) -> dict[str, Any]:
    """Everything that a file asks for, be it a line of the file or a default."""
    values = values_of(settings_from(models.get(asked.model).Settings, asked.settings))
    for name in asked.augment:
        if name != "none":
            settings = settings_from(augmenters.get(name).Settings, asked.augment_settings.get(name, {}))
            values |= values_of(settings, f"{name}.")
    return values


def owner_of(name: str) -> str:
    """The augmentation that a setting belongs to; empty for the model."""
    first = name.partition(".")[0]
    return first if first in augmenters.names() else ""


def value_of(values: dict[str, Any], name: str) -> Any:
    """The value of the only setting of that name; of an augmentation, groups between may be left out."""
    first, _, last = name.rpartition(".")
    found = [
        whole
        for whole in values
        if owner_of(whole) == owner_of(name)
        and (
            f".{whole}".endswith(f".{name}")
            or (first and whole.startswith(f"{first}.") and whole.endswith(f".{last}"))
        )
    ]
    assert len(found) == 1, f"{name} is {found or 'no setting'}"
    return values[found[0]]


def departures(asked: Asked, wanted: dict[str, Any]) -> list[str]:
    """What a file asks for otherwise than wanted."""
    values = asked_for(asked)
    return [
        f"{name} is {value_of(values, name)!r}, the paper's {value!r}"
        for name, value in wanted.items()
        if value_of(values, name) != value
    ]


def test_every_file_that_names_a_paper_is_held_to_it():
    naming = {
        path.name
        for path in CONFIGS.glob("*.toml")
        if NAMES_A_PAPER.search(header_of(path)) or any(f"-{name}" in path.stem for name in OF_A_PAPER)
    }
    assert naming == set(PAPERS)


@pytest.mark.parametrize("name", PAPERS)
def test_a_file_that_names_a_paper_asks_for_the_papers_values(name):
    assert departures(read_config(CONFIGS / name), PAPERS[name]) == []


@pytest.mark.parametrize(
    ("name", "value"), [("layers", (512, 256)), ("epochs", 29), ("clip", 5.0), ("learn_words", True)]
)
def test_a_value_that_is_not_the_papers_is_found(name, value):
    wanted = {**PAPERS["attentionxml-official.toml"], name: value}
    assert len(departures(read_config(CONFIGS / "attentionxml-official.toml"), wanted)) == 1


def test_a_name_that_is_no_setting_is_found():
    with pytest.raises(AssertionError, match="epoch is no setting"):
        departures(read_config(CONFIGS / "attentionxml-official.toml"), {"epoch": 30})
