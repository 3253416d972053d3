"""The loop trains networks of arrays as it does torch modules: to the same weights, and after a kill too."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tailwright.encoders.row_table import RowTable
from tailwright.training.array_adam import ArrayAdam
from tailwright.training.array_network import ArrayLoss, ArrayNetwork
from tailwright.training.loop import run_phases
from tailwright.training.module_network import ModuleNetwork
from tailwright.training.named_arrays import Arrays
from tailwright.training.phases import Phase, Plan
from tailwright.training.schedules import Schedule
from tailwright.training.swa import Averaging
from tailwright.training.workplace import Workplace

GOAL = np.array([1.0, 2.0], dtype=np.float32)


def start() -> tuple[np.ndarray, np.ndarray]:
    return np.linspace(-1, 1, 12, dtype=np.float32).reshape(6, 2), np.array([0.3, -0.4], dtype=np.float32)


class Module(nn.Module):
    """A table and a dense parameter."""

    def __init__(self) -> None:
        super().__init__()
        table, dense = start()
        self.table, self.dense = RowTable(table), nn.Parameter(torch.from_numpy(dense))


class Pull(Phase):
    """Draws the table's rows and the dense part towards the goal."""

    def __init__(self, plan, qualities=None):
        super().__init__("pull", 6, plan)
        self.qualities = qualities

    def validate(self):
        return None if self.qualities is None else self.qualities.pop(0)


class PullModule(Pull):
    def __init__(self, module, *options):
        super().__init__(*options)
        self.module = module

    def loss(self, rows, random, epoch):
        near = (self.module.table(rows) - torch.from_numpy(GOAL)).square().sum()
        return near + (self.module.dense - torch.from_numpy(GOAL)).square().sum()


class PullArrays(Pull):
    def __init__(self, network, *options):
        super().__init__(*options)
        self.network = network

    def loss(self, rows, random, epoch):
        of_table, of_dense = self.network.tables["table"][rows] - GOAL, self.network.dense["dense"] - GOAL
        value = float((of_table**2).sum() + (of_dense**2).sum())
        return ArrayLoss(value, {"table": (rows, 2 * of_table)}, {"dense": 2 * of_dense})


def network() -> ArrayNetwork:
    table, dense = start()
    return ArrayNetwork({"table": table}, {"dense": dense})


def plan(epochs=3, **settings):
    return Plan(epochs, 4, {"table": 0.1, "dense": 0.05}, **settings)


SETTINGS = {
    "plain": {},
    "clipped": {"clip": 0.5},
    "decayed": {"weight_decay": 0.3, "schedule": Schedule("cosine")},
    "averaged": {"averaging": Averaging(1, 1)},
    "in micro-batches": {"micro_batch": 3},
    "in part": {"rates": {"dense": 0.1}},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_arrays_end_where_a_module_ends(settings):
    asked = Plan(3, 4, **{"rates": {"table": 0.1, "dense": 0.05}, **settings})
    module, arrays = Module(), network()
    run_phases(ModuleNetwork(module), [PullModule(module, asked, [1.0, 2.0, 1.5])], seed=0)
    run_phases(arrays, [PullArrays(arrays, asked, [1.0, 2.0, 1.5])], seed=0)
    np.testing.assert_allclose(arrays.tables["table"], module.table.array, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(arrays.dense["dense"], module.dense.detach().numpy(), rtol=1e-5, atol=1e-6)


def learnt(work: Workplace | None = None, stop: int | None = None) -> Arrays:
    arrays = network()
    phase = PullArrays(arrays, plan(averaging=Averaging(1, 2), clip=1.0))
    phase.validate = lambda: -float(np.abs(arrays.dense["dense"]).sum())
    steps, loss = [0], phase.loss

    def failing(rows, random, epoch):
        steps[0] += 1
        if steps[0] == stop:
            raise KeyboardInterrupt
        return loss(rows, random, epoch)

    phase.loss = failing
    run_phases(arrays, [phase], seed=1, work=work)
    return arrays.weights()


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_killed_training_ends_with_the_same_bits(tmp_path, stop):
    with pytest.raises(KeyboardInterrupt):
        learnt(Workplace(tmp_path, checkpoint_seconds=0), stop)
    found = learnt(Workplace(tmp_path, resume=True, checkpoint_seconds=0))
    for name, weight in learnt().items():
        np.testing.assert_array_equal(found[name], weight)


def test_a_name_of_nothing_in_the_plan_is_an_error():
    with pytest.raises(ValueError, match="trains 'tabel', which is no parameter"):
        run_phases(network(), [PullArrays(network(), Plan(1, 4, {"tabel": 0.1}))], seed=0)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam_on_arrays_is_torchs_adamw(decay):
    draws = np.random.Generator(np.random.Philox(key=1))
    ours = draws.normal(size=(4, 3)).astype(np.float32)
    theirs = nn.Parameter(torch.from_numpy(ours.copy()))
    adam, reference = ArrayAdam(ours, decay), torch.optim.AdamW([theirs], lr=1.0, weight_decay=decay)
    for step in range(20):
        gradient = draws.normal(size=(4, 3)).astype(np.float32)
        reference.param_groups[0]["lr"] = rate = 0.01 * (1 - step / 20)
        theirs.grad = torch.from_numpy(gradient.copy())
        reference.step()
        adam.add(gradient / 2)
        adam.add(gradient / 2)
        adam.step(rate)
    np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-5, atol=1e-6)
