"""Averaged weights: the mean of snapshots, what is validated and kept, and the same bits after a stop."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from stopped_fits import stopped_after
from torch import nn

from tailwright.encoders.row_table import RowTable
from tailwright.streams import stream
from tailwright.training.loop import run_phases
from tailwright.training.module_network import ModuleNetwork
from tailwright.training.phases import Phase, Plan
from tailwright.training.swa import Averages, Averaging
from tailwright.training.workplace import Workplace

sys.path.insert(0, str(Path(__file__).parent))
import tiny_team


class Network(nn.Module):
    """A table and a dense parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.table = RowTable(np.zeros((3, 2), dtype=np.float32))
        self.dense = nn.Parameter(torch.zeros(2))


def move(network, random) -> dict[str, np.ndarray]:
    """New weights at random, in place; a copy of them."""
    network.table.array[...] = random.standard_normal((3, 2))
    network.dense.data.copy_(torch.from_numpy(random.standard_normal(2)))
    return {"table.weight": network.table.array.copy(), "dense": network.dense.detach().numpy().copy()}


@pytest.mark.parametrize("updates", [0, 1, 2, 7])
def test_after_some_updates_it_is_the_mean_of_the_snapshots_and_the_first_weights(updates):
    network, random = Network(), stream(0, "weights")
    averages = Averages(Averaging(2, 3), ModuleNetwork(network), ["table.weight", "dense"])
    move(network, random)
    averages.begin_epoch(1)
    averages.after_step(2, 2)
    assert averages.means == {}
    taken = [move(network, random)]
    averages.begin_epoch(2)
    for number in range(updates):
        move(network, random)
        averages.after_step(3 * number, 0)  # not due
        taken.append(move(network, random))
        averages.after_step(3 * number + 2, 2)
    averages.begin_epoch(3)  # begun once, it is not begun anew
    assert averages.count == updates + 1
    for name, mean in averages.means.items():
        np.testing.assert_allclose(mean, np.mean([snapshot[name] for snapshot in taken], axis=0), atol=1e-6)


def test_swapped_in_the_weights_are_the_means_and_then_what_they_were():
    network, random = Network(), stream(0, "weights")
    averages = Averages(Averaging(0, 1), ModuleNetwork(network), ["table.weight", "dense"])
    first = move(network, random)
    averages.begin_epoch(0)
    second = move(network, random)
    averages.after_step(0, 0)
    means = {name: mean.copy() for name, mean in averages.means.items()}

    @averages.swapped_in()
    def stopped() -> None:
        np.testing.assert_allclose(
            network.table.array, (first["table.weight"] + second["table.weight"]) / 2, atol=1e-6
        )
        np.testing.assert_array_equal(network.dense.detach().numpy(), means["dense"])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    np.testing.assert_array_equal(network.table.array, second["table.weight"])
    np.testing.assert_array_equal(network.dense.detach().numpy(), second["dense"])
    np.testing.assert_array_equal(averages.means["table.weight"], means["table.weight"])


class Walk(Phase):
    """The dense part goes one step along its gradient; every weight that is validated or watched is noted."""

    def __init__(self, network, plan, quality=lambda weight: None):
        super().__init__("walk", 4, plan)
        self.network, self.quality = network, quality
        self.trained, self.validated, self.looked_at = [], [], []

    def loss(self, rows, random, epoch):
        self.trained.append(self.network.dense.detach().numpy().copy())
        return self.network.dense.sum()

    def validate(self):
        self.validated.append(self.network.dense.detach().numpy().copy())
        return self.quality(self.validated[-1])

    def watched(self):
        self.looked_at.append(self.network.dense.detach().numpy().copy())
        return {}


def plan(epochs=3, **settings) -> Plan:
    return Plan(epochs, 2, {"dense": 0.1}, averaging=settings.pop("averaging", Averaging(1, 1)), **settings)


def test_raw_weights_are_trained_on_and_averaged_ones_are_validated_watched_and_kept():
    network = Network()
    phase = Walk(network, plan())
    run_phases(ModuleNetwork(network), [phase], seed=0)
    # Two steps an epoch, each of about the rate: 0, then -0.1, -0.2 and so on.
    np.testing.assert_allclose([w[0] for w in phase.trained], -0.1 * np.arange(6), atol=1e-5)
    # After epoch 1 there is no average yet; then it is of -0.2 (when it began), -0.3, -0.4 and on.
    np.testing.assert_allclose([w[0] for w in phase.validated], [-0.2, -0.3, -0.4], atol=1e-5)
    np.testing.assert_array_equal(phase.validated, phase.looked_at)
    np.testing.assert_array_equal(network.dense.detach().numpy(), phase.validated[-1])


def test_the_best_weights_are_averaged_ones():
    network = Network()
    phase = Walk(network, plan(epochs=4), quality=lambda weight: -abs(float(weight[0]) + 0.3))
    run_phases(ModuleNetwork(network), [phase], seed=0)
    np.testing.assert_array_equal(network.dense.detach().numpy(), phase.validated[1])


def test_a_phase_that_ends_before_averaging_starts_keeps_its_weights():
    network = Network()
    run_phases(ModuleNetwork(network), [Walk(network, plan(averaging=Averaging(3, 1)))], seed=0)
    np.testing.assert_allclose(network.dense.detach().numpy(), -0.6, atol=1e-5)


def warnings_of(folder: Path, averagings: list[Averaging | None], caplog) -> tuple[list[str], list[str]]:
    """What is said of three epochs of phases, and what the log of the fit holds."""
    network = Network()
    phases = [Walk(network, plan(averaging=averaging)) for averaging in averagings]
    for number, phase in enumerate(phases):
        phase.name = f"walk-{number}"
    with caplog.at_level(logging.WARNING):
        run_phases(ModuleNetwork(network), phases, seed=0, work=Workplace(folder))
    events = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return caplog.messages, [event["problem"] for event in events if event["event"] == "warning"]


def test_phases_that_end_before_averaging_starts_are_said_in_one_line(tmp_path, caplog):
    said, logged = warnings_of(tmp_path, [Averaging(3, 1), Averaging(2, 1), None, Averaging(9, 1)], caplog)
    late = "walk-0 (average_from 3, epochs 3), walk-3 (average_from 9, epochs 3)"
    assert said == [f"weights are never averaged in {late}: epochs are counted from 0"]
    assert logged == said


def test_nothing_is_said_where_the_last_epoch_is_averaged_or_none_is_asked_for(tmp_path, caplog):
    assert warnings_of(tmp_path, [Averaging(2, 1), Averaging(0, 1), None], caplog) == ([], [])


@pytest.mark.parametrize("stop", [1, 4, 5, 9, 16])
def test_stopped_after_any_checkpoint_averages_and_clipping_end_the_same(tmp_path, stop):
    """The tiny model trains with averages, the adaptive clip and micro-batches at once."""
    settings = {"drop": 0.3, "micro_batch": 3, "validate_every": 3}
    _, expected = tiny_team.learnt(tmp_path / "whole", **settings)
    with stopped_after(stop):
        tiny_team.learnt(tmp_path / "stopped", **settings)
    _, found = tiny_team.learnt(tmp_path / "stopped", resume=True, **settings)
    for name, weight in expected.items():
        np.testing.assert_array_equal(found[name], weight)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ((-1, 1), "start must be >= 0, got -1"),
        ((0, 0), "every must be >= 1, got 0"),
        ((0, 1, "day"), "counted must be one of phase, epoch, got 'day'"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        Averaging(*settings)
