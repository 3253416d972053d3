"""Networks of NumPy arrays: a phase computes their gradients along with its loss, by hand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tailwright.encoders.row_gradients import RowGradient
from tailwright.training.array_adam import ArrayAdam
from tailwright.training.named_arrays import Arrays
from tailwright.training.network import Network
from tailwright.training.optimisers import Optimisers
from tailwright.training.phases import Plan
from tailwright.training.sparse_adam import RowSparseAdam
from tailwright.training.team import Team
from tailwright.training.weight_decay import decay_of


@dataclass(frozen=True, eq=False)
class ArrayLoss:
    """The mean loss of a batch, with its gradients by the names of tables and of dense arrays."""

    value: float
    tables: Mapping[str, RowGradient]
    dense: Mapping[str, np.ndarray]


class ArrayNetwork(Network):
    """Float32 arrays: of a table (rows, width) a batch touches a few rows, of a dense array everything."""

    table_optimiser: ClassVar[type[RowSparseAdam]] = RowSparseAdam

    def __init__(self, tables: Arrays, dense: Arrays) -> None:
        self.tables, self.dense = tables, dense

    def parameters(self) -> list[str]:
        return [*self.tables, *self.dense]

    def statistics(self) -> list[str]:
        return []

    def weights(self, names: Collection[str] | None = None) -> Arrays:
        arrays = {**self.tables, **self.dense}
        return {name: array for name, array in arrays.items() if names is None or name in names}

    def put(self, arrays: Mapping[str, np.ndarray]) -> None:
        weights = self.weights()
        for name, array in arrays.items():
            weights[name][...] = array

    def optimisers(self, plan: Plan) -> Optimisers:
        return ArrayOptimisers(self, plan)

    def begin(self, team: Team) -> None:
        for array in self.weights().values():
            team.same(array)


class ArrayOptimisers(Optimisers):
    """Steps the arrays that a plan trains."""

    dense: Mapping[str, ArrayAdam]

    def __init__(self, network: ArrayNetwork, plan: Plan) -> None:
        rates = network.trained(plan)
        adam = network.table_optimiser
        tables = {n: adam(t, plan.epsilon) for n, t in network.tables.items() if n in rates}
        dense = {
            name: ArrayAdam(array, decay_of(plan.weight_decay, name, array.shape), plan.epsilon)
            for name, array in network.dense.items()
            if name in rates
        }
        super().__init__(plan, rates, tables, dense)

    def learn(self, loss: Callable[[], ArrayLoss], counts: float) -> float:
        found, factor = loss(), np.float32(counts)
        for name, (rows, gradient) in found.tables.items():
            if name in self.tables:
                self._collected[name].append((rows, gradient if counts == 1 else factor * gradient))
        for name, gradient in found.dense.items():
            if name in self.dense:
                self.dense[name].add(gradient if counts == 1 else factor * gradient)
        return found.value

    def switch_training(self, on: bool) -> None:
        """Arrays have no modes."""

    def collect(self) -> None:
        """`learn` has collected already."""
