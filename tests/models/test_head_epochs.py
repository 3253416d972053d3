"""`head_epochs`: the head of every model on a transformer may learn first and alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tailwright.checks.corpora import tiny_corpus
from tailwright.models import models
from tailwright.settings import settings_from
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

STILL = 1e-12


@pytest.mark.parametrize(
    ("name", "also"),
    [
        ("roberta", {}),
        ("la-roberta", {}),
        ("la-roberta", {"head": "shared-mlp", "layers": (8, 4)}),
        ("lightxml", {"groups": "flat"}),
        ("lightxml", {"groups": "grouped", "top_groups": 2, "leaf": 3}),
    ],
)
def test_the_head_may_learn_first_and_alone(tiny_bert, tmp_path, name, also):
    corpus, kind = tiny_corpus(), models.get(name)
    rates = {"head_epochs_rate": 0.1, "rate": STILL, "head_rate": STILL}
    settings = {"encoder": str(tiny_bert), "head_epochs": 2, "epochs": 1, **rates, **also}
    model = kind(settings_from(kind.Settings, settings))
    model._features = tmp_path
    model.build(corpus, seed=0, work=Workplace())
    before = weights_of(model.network)
    model.fit(corpus, seed=0, work=Workplace(tmp_path))
    after = weights_of(model.network)
    assert before.keys() == after.keys()
    for parameter, weight in after.items():
        moved = not np.allclose(weight, before[parameter], atol=1e-6)
        assert moved == parameter.startswith("head."), parameter
    events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    epochs = [(event["phase"], event["epoch"]) for event in events if event["event"] == "epoch"]
    assert epochs == [(f"{name}/head", 1), (f"{name}/head", 2), (name, 1)]
