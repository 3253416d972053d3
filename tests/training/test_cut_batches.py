"""Micro-batches have the gradient of the whole batch; validation by steps stops in the middle of an epoch."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tailwright.training.loop import run_phases
from tailwright.training.module_network import ModuleNetwork
from tailwright.training.phases import Plan
from tailwright.training.workplace import Workplace

sys.path.insert(0, str(Path(__file__).parent))
import tiny_team


@pytest.mark.parametrize("size", [1, 3, 4, 9])
def test_micro_batches_learn_what_the_whole_batch_learns(tmp_path, size):
    losses, whole = tiny_team.learnt(tmp_path / "whole")
    cut_losses, cut = tiny_team.learnt(tmp_path / "cut", micro_batch=size)
    np.testing.assert_allclose(cut_losses, losses, rtol=1e-5)
    for name, weight in whole.items():
        np.testing.assert_allclose(cut[name], weight, atol=1e-5)


class Judged(tiny_team.Tags):
    """Validates to given numbers; the weights at each validation are kept."""

    def __init__(self, network, plan, qualities):
        super().__init__(network, plan, rows=12)
        self.qualities, self.seen = list(qualities), []

    def validate(self):
        self.seen.append(self.network.layer["weight"].detach().numpy().copy())
        return self.qualities.pop(0)


def judged(folder, qualities, **settings):
    """A phase of three steps an epoch after its training."""
    network = tiny_team.Network()
    phase = Judged(network, Plan(5, 4, tiny_team.RATES, **settings), qualities)
    run_phases(ModuleNetwork(network), [phase], seed=0, work=Workplace(folder))
    events = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return phase, network.layer["weight"].detach().numpy(), events


def test_validation_by_steps_stops_and_keeps_the_best_weights(tmp_path):
    phase, kept, events = judged(tmp_path, [1.0, 3.0, 2.0, 2.5, 9.0], validate_every=2, patience=2)
    assert phase.qualities == [9.0]
    np.testing.assert_array_equal(kept, phase.seen[1])
    found = [(event["step"], event["valid"]) for event in events if event["event"] == "validation"]
    assert found == [(2, 1.0), (4, 3.0), (6, 2.0), (8, 2.5)]
    epochs = [event for event in events if event["event"] == "epoch"]
    assert len(epochs) == 3
    assert all("valid" not in event for event in epochs)


def test_the_last_step_is_validated_too(tmp_path):
    phase, kept, events = judged(tmp_path, [1.0, 2.0], validate_every=10)
    assert [event["step"] for event in events if event["event"] == "validation"] == [10, 15]
    np.testing.assert_array_equal(kept, phase.seen[1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"validate_every": 0}, "validate_every must be >= 1 or none, got 0"),
        ({"micro_batch": 0}, "micro_batch must be >= 1 or none, got 0"),
        ({"epsilon": 0.0}, "epsilon must be >= 1e-30, got 0.0"),
        ({"precision": "half"}, "precision must be one of full, mixed, got 'half'"),
    ],
)
def test_a_plan_names_what_is_wrong(settings, message):
    with pytest.raises(ValueError, match=message):
        Plan(1, 1, {}, **settings)
