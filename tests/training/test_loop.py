"""The loop runs phases with their rates and frozen parameters, stops early, and says when a loss breaks."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch import nn

from tailwright.encoders.row_table import RowTable
from tailwright.errors import TailwrightError
from tailwright.training.loop import run_phases
from tailwright.training.module_network import ModuleNetwork
from tailwright.training.phases import Phase, Plan
from tailwright.training.schedules import Schedule
from tailwright.training.workplace import Workplace


class Network(nn.Module):
    """A table and a dense parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.table = RowTable(np.zeros((6, 2), dtype=np.float32))
        self.dense = nn.Parameter(torch.zeros(2))


class Pull(Phase):
    """Draws the table's rows and the dense part towards (1, 2)."""

    def __init__(self, network, plan, name="pull", qualities=None, factor=1.0):
        super().__init__(name, 6, plan)
        self.network, self.qualities, self.factor = network, qualities, factor
        self.seen, self.draws = [], []

    def loss(self, rows, random, epoch):
        self.seen.append(rows.tolist())
        self.draws.append(random.random())
        goal = torch.tensor([1.0, 2.0])
        near = (self.network.table(rows) - goal).square().sum()
        return self.factor * (near + (self.network.dense - goal).square().sum())

    def validate(self):
        return None if self.qualities is None else self.qualities.pop(0)


def plan(epochs=3, **settings):
    rates = settings.pop("rates", {"table": 0.1, "dense": 0.1})
    return Plan(epochs, 4, rates, **settings)


def weights(network):
    return network.table.array.copy(), network.dense.detach().numpy().copy()


def test_every_epoch_goes_through_all_rows_in_its_own_order():
    network = Network()
    phase = Pull(network, plan())
    run_phases(ModuleNetwork(network), [phase], seed=0)
    epochs = [phase.seen[i] + phase.seen[i + 1] for i in (0, 2, 4)]
    assert all(sorted(epoch) == list(range(6)) for epoch in epochs)
    assert epochs[0] != epochs[1]
    assert len(set(phase.draws)) == 6
    again = Pull(Network(), plan())
    run_phases(ModuleNetwork(again.network), [again], seed=0)
    assert again.seen == phase.seen
    np.testing.assert_array_equal(weights(again.network)[0], weights(network)[0])


def test_a_part_without_a_rate_is_frozen_while_the_phase_runs():
    network = Network()
    run_phases(ModuleNetwork(network), [Pull(network, plan(rates={"table": 0.1}))], seed=0)
    table, dense = weights(network)
    assert (table > 0).all()
    assert (dense == 0).all()
    run_phases(ModuleNetwork(network), [Pull(network, plan(rates={"dense": 0.1}))], seed=0)
    assert (weights(network)[0] == table).all()
    assert (weights(network)[1] > 0).all()


def test_early_stopping_keeps_the_best_weights(tmp_path):
    network, best = Network(), Network()
    run_phases(
        ModuleNetwork(network),
        [Pull(network, plan(9, patience=2), qualities=[1.0, 3.0, 2.0, 2.5, 9.0])],
        seed=0,
    )
    run_phases(ModuleNetwork(best), [Pull(best, plan(2))], seed=0)
    np.testing.assert_array_equal(weights(network)[0], weights(best)[0])
    np.testing.assert_array_equal(weights(network)[1], weights(best)[1])


def test_epochs_are_logged_with_loss_and_validation(tmp_path):
    network = Network()
    run_phases(
        ModuleNetwork(network),
        [Pull(network, plan(2), qualities=[1.0, 2.0])],
        seed=0,
        work=Workplace(tmp_path),
    )
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["start", "epoch", "epoch", "end"]
    assert [line["valid"] for line in lines[1:3]] == [1.0, 2.0]
    assert lines[2]["loss"] < lines[1]["loss"]


def test_clipping_bounds_the_norm_over_all_parameters_together():
    """The first Adam moment after one step is a tenth of the clipped gradient."""
    from tailwright.training.module_network import ModuleOptimisers

    network = Network()
    phase = Pull(network, plan(clip=0.5), factor=1000.0)
    optimisers = ModuleOptimisers(network, phase.plan)
    phase.loss(np.array([0, 5]), np.random.Generator(np.random.Philox(key=0)), {}).backward()
    optimisers.step(1.0)
    state = dict(optimisers.state())
    norm = np.sqrt((state["table.weight.mean"] ** 2).sum() + (state["dense.mean"] ** 2).sum())
    assert norm == pytest.approx(0.05, rel=1e-5)


def test_phases_follow_each_other_and_resume_in_the_second(tmp_path, monkeypatch):
    def phases(network):
        second = plan(2, schedule=Schedule("cosine"))
        return [Pull(network, plan(1), "first"), Pull(network, second, "second", qualities=[1.0, 0.5])]

    expected = Network()
    run_phases(ModuleNetwork(expected), phases(expected), seed=1)
    network, stopped = Network(), phases
    broken = stopped(network)
    real, calls = Pull.loss, []

    def failing(self, rows, random, epoch):
        calls.append(self.name)
        if calls.count("second") == 4:
            raise KeyboardInterrupt
        return real(self, rows, random, epoch)

    monkeypatch.setattr(Pull, "loss", failing)
    with pytest.raises(KeyboardInterrupt):
        run_phases(ModuleNetwork(network), broken, seed=1, work=Workplace(tmp_path, checkpoint_seconds=0))
    monkeypatch.undo()
    network = Network()
    resumed = phases(network)
    resumed[1].qualities.pop(0)  # the first epoch of the second phase was validated before the stop
    run_phases(
        ModuleNetwork(network), resumed, seed=1, work=Workplace(tmp_path, resume=True, checkpoint_seconds=0)
    )
    assert resumed[0].seen == []
    for mine, theirs in zip(weights(network), weights(expected), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_loss_that_is_not_finite_names_the_batch():
    network = Network()
    with pytest.raises(TailwrightError, match="the loss is nan at epoch 1, batch 1 of phase pull"):
        run_phases(ModuleNetwork(network), [Pull(network, plan(), factor=float("nan"))], seed=0)


def test_a_plan_names_what_is_wrong():
    for settings, message in [
        ({"epochs": 0}, "epochs must be in \\[1, 1000000\\], got 0"),
        ({"rates": {"dense": 0}}, "the learning rate of dense must be > 0, got 0"),
        ({"clip": 0.0}, "clip must be > 0 or none"),
        ({"weight_decay": -1.0}, "weight_decay must be in \\[0, 1000\\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            plan(**settings)
    with pytest.raises(ValueError, match="trains 'tabel', which is no parameter of the network"):
        run_phases(ModuleNetwork(Network()), [Pull(Network(), plan(rates={"tabel": 0.1}))], seed=0)
