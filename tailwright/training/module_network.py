"""Torch modules as the training loop sees them: weights by name, losses that torch differentiates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from tailwright.encoders.row_table import RowTable
from tailwright.heads.sharded_dense import ShardedDenseHead
from tailwright.heads.shards import LabelShard
from tailwright.training.allocator import keep_freed_memory
from tailwright.training.dense_adam import DenseAdam
from tailwright.training.named_arrays import Arrays, rates_by_name
from tailwright.training.network import Network
from tailwright.training.optimisers import Optimisers
from tailwright.training.phases import Plan
from tailwright.training.sparse_adam import RowSparseAdam
from tailwright.training.team import Team
from tailwright.training.weight_decay import decay_of
from tailwright.training.weights import named_tensors, put_weights, weights_of

if TYPE_CHECKING:  # transformers, which few trainings need
    from tailwright.training.adafactor import FixedRateAdafactor


class ModuleNetwork(Network):
    """A torch module that is trained."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self._shards = shards_of(module)  # once: every step asks for them

    def parameters(self) -> list[str]:
        return parameter_names(self.module)

    def statistics(self) -> list[str]:
        return [name for name, _ in self.module.named_buffers()]

    def weights(self, names: Collection[str] | None = None) -> Arrays:
        return weights_of(self.module, names)

    def put(self, arrays: Mapping[str, np.ndarray]) -> None:
        put_weights(self.module, arrays)

    def optimisers(self, plan: Plan) -> Optimisers:
        return ModuleOptimisers(self.module, plan)

    def shards(self) -> dict[str, LabelShard]:
        return self._shards

    def begin(self, team: Team) -> None:
        keep_freed_memory()
        if self.module.training:
            self.module.eval()
        shards = self.shards()
        for name, tensor in named_tensors(self.module) if team.size > 1 else ():
            if name not in shards:
                team.same(tensor.detach())  # what processes have made of the data may differ in the last bit


class ModuleOptimisers(Optimisers):
    """Steps the parameters of a torch module that a plan trains, and freezes the others."""

    def __init__(self, module: nn.Module, plan: Plan) -> None:
        self.module = module
        rates = rates_by_name(parameter_names(module), plan.rates)
        dense: dict[str, DenseAdam | FixedRateAdafactor] = {}
        self._row_tables: dict[str, RowTable] = {}
        tables = {id(child.weight): child for child in module.modules() if isinstance(child, RowTable)}
        for name, parameter in module.named_parameters():
            trained, table = name in rates, tables.get(id(parameter))
            if table is not None:
                table.frozen = not trained
                if trained:
                    self._row_tables[name] = table
                continue
            parameter.requires_grad_(trained)
            if trained:
                dense[name] = _dense(parameter, decay_of(plan.weight_decay, name, parameter.shape), plan)
        by_rows = {n: RowSparseAdam(table.array, plan.epsilon) for n, table in self._row_tables.items()}
        on_cuda = any(optimiser.parameter.is_cuda for optimiser in dense.values())
        super().__init__(
            plan,
            rates,
            by_rows,
            dense,
            mixed=plan.precision == "mixed" and on_cuda,
            sharded=shards_of(module).keys(),
        )
        # Dropout layers and such have no parameters; a child that has some and learns none is frozen.
        learning = {
            name: child
            for name, child in module.named_children()
            if next(child.parameters(), None) is None or any(n.startswith(f"{name}.") for n in rates)
        }
        self._learning = list(learning.values())
        # What is trained, and what learning children keep beside it, such as batch statistics.
        self.changed |= {f"{name}.{n}" for name, child in learning.items() for n, _ in child.named_buffers()}

    def learn(self, loss: Callable[[], torch.Tensor], counts: float) -> float:
        with self.loss_scale.context():
            found = loss()
        factor = counts * self.loss_scale.value
        if found.requires_grad:
            (found if factor == 1 else factor * found).backward()  # type: ignore[no-untyped-call]
        self.collect()
        return float(found.detach())

    def switch_training(self, on: bool) -> None:
        self.module.training = on
        for child in self._learning:
            child.train(on)

    def collect(self) -> None:
        for name, table in self._row_tables.items():
            gradient = table.take_gradient()
            if gradient is not None:
                self._collected[name].append(gradient)


def parameter_names(module: nn.Module) -> list[str]:
    """The names of a module's parameters; one that two children share is there once."""
    return [name for name, _ in module.named_parameters()]


def shards_of(module: nn.Module) -> dict[str, LabelShard]:
    """The parameters of sharded heads within a module, by name."""
    return {
        f"{head}.{name}" if head else name: child.shard
        for head, child in module.named_modules()
        if isinstance(child, ShardedDenseHead)
        for name, _ in child.named_parameters()
    }


def _dense(parameter: torch.Tensor, decay: float, plan: Plan) -> DenseAdam | FixedRateAdafactor:
    if plan.optimiser == "adamw":
        return DenseAdam(parameter, decay, plan.epsilon)
    from tailwright.training.adafactor import FixedRateAdafactor

    return FixedRateAdafactor(parameter, decay)
