"""Trains each flat text model in a folder and prints what it learnt; tests kill it, and start it in pairs.

    python tiny_text_models.py ENCODER FOLDER [NAME...]

A line a model: its losses by epoch, and the digest of its weights and scores. What is in the folder is gone
on with.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from tailwright.checks.corpora import tiny_corpus
from tailwright.data.corpus import Corpus
from tailwright.models import Model, models
from tailwright.settings import settings_from
from tailwright.training.team import connected, working_together
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

# 64 rows in batches of 16, two epochs, of one phase or two: 8 steps. With a share for each of two processes,
# all of 8 rows.
ROWS, STEPS = 64, 8
LEARNING = {"epochs": 2, "batch": 16}
ENCODED = {**LEARNING, "rate": 3e-3, "head_rate": 3e-2, "average_from": 1, "average_every": 2}
HEAD_FIRST = {**ENCODED, "head_epochs": 1, "head_epochs_rate": 3e-2, "epochs": 1, "average_from": 0}
WORDS = {**LEARNING, "width": 16, "filters": 8, "bottleneck": 16, "rate": 3e-3}
# (model, settings without the encoder) by name.
FLAT: dict[str, tuple[str, dict[str, Any]]] = {
    "xml-cnn": ("xml-cnn", WORDS),
    "roberta": ("roberta", ENCODED),
    "roberta-head-first": ("roberta", HEAD_FIRST),
    "roberta-frozen": ("roberta", {**ENCODED, "frozen": True}),
    "la-roberta": ("la-roberta", ENCODED),
    "la-roberta-shared": ("la-roberta", {**ENCODED, "frozen": True, "head": "shared-mlp", "layers": (8, 4)}),
}
# Those whose head is shared out among processes that train together.
SHARDED = {
    f"{name}-sharded": (model, {**FLAT[name][1], "sharded": True})
    for name, model in (("xml-cnn", "xml-cnn"), ("roberta", "roberta"), ("roberta-head-first", "roberta"))
}
# The last batch has one row, which is nobody's but the leader's.
SHARDED["xml-cnn-odd"] = ("xml-cnn", {**WORDS, "sharded": True, "batch": 63})


def asked(name: str, encoder: str, **also: Any) -> tuple[str, dict[str, Any]]:
    """The model and its settings, as `tailwright.train` takes them."""
    model, settings = {**FLAT, **SHARDED}[name]
    on = {} if model == "xml-cnn" else {"encoder": encoder}
    return model, {**settings, **on, **also}


def new(name: str, encoder: str, **also: Any) -> Model:
    model, settings = asked(name, encoder, **also)
    kind = models.get(model)
    return kind(settings_from(kind.Settings, settings))


def rows() -> Corpus:
    return tiny_corpus(ROWS)


def learnt(name: str, encoder: str, work: Workplace, **also: Any) -> str:
    """The digest of what a model learns there."""
    model = new(name, encoder, **also)
    model.fit(rows(), seed=3, work=work)
    digest = hashlib.sha256()
    for name_, weight in weights_of(model.network).items():
        digest.update(name_.encode() + weight.tobytes())
    digest.update(model.predict(rows().train.texts, 4).scores.tobytes())
    return digest.hexdigest()


def losses(folder: Path) -> list[float]:
    """The mean loss of each epoch that is logged there."""
    events = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [event["loss"] for event in events if event["event"] == "epoch"]


def main(encoder: str, folder: str, *names: str) -> None:
    with connected() as team, working_together(team):
        for name in names or FLAT:
            place = Path(folder) / name
            work = Workplace(place, resume=True, checkpoint_seconds=0, writes=team.leads)
            digest = learnt(name, encoder, work)
            print(json.dumps([name, losses(place) if team.leads else [], digest]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
