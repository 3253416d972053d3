"""The optimisers of a phase: row-sparse Adam for tables, another for each dense parameter, clipped as one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from tailwright.encoders.row_gradients import RowGradient, added_rows
from tailwright.training.clipping import Clipper
from tailwright.training.named_arrays import Arrays
from tailwright.training.phases import Plan
from tailwright.training.precision import LossScale
from tailwright.training.sparse_adam import RowSparseAdam
from tailwright.training.team import ALONE, Team


class DenseOptimiser(Protocol):
    """The optimiser of one array or tensor that every batch touches."""

    gradient: Any  # an array or a tensor; None where no loss reached it

    def filled(self) -> Any:
        """The gradient in one piece of memory, from now on zeros where there was none."""

    def squared_norm(self) -> float:
        """The sum of squares of the gradient."""

    def step(self, rate: float) -> None:
        """One step with the gradient, which is then cleared."""

    def state(self) -> Arrays:
        """What a checkpoint keeps, besides the weights."""

    def restore(self, state: Arrays) -> None:
        """Take in what `state` gave."""


class Optimisers(ABC):
    """Steps the parameters that a plan trains, by their names."""

    def __init__(
        self,
        plan: Plan,
        rates: Mapping[str, float],
        tables: Mapping[str, RowSparseAdam],
        dense: Mapping[str, DenseOptimiser],
        *,
        mixed: bool = False,
        sharded: Collection[str] = (),
    ) -> None:
        """`mixed`: losses are computed in mixed precision.

        Of the `sharded` ones of `dense` this process has a part alone: their gradients are sums over the rows
        of the whole batch already.
        """
        self.plan, self.rates, self.tables, self.dense = plan, rates, tables, dense
        self.clipper, self.loss_scale = Clipper(plan.clip), LossScale(active=mixed)
        self.sharded = {name: one for name, one in dense.items() if name in sharded}
        self._common = {name: one for name, one in dense.items() if name not in sharded}
        self.changed = {*rates}  # the names of what a step or a forward pass changes
        self._collected: dict[str, list[RowGradient]] = {name: [] for name in tables}

    @abstractmethod
    def learn(self, loss: Callable[[], Any], counts: float) -> float:
        """Compute a phase's loss and keep `counts` times its gradients for the next step; gives the loss."""

    @abstractmethod
    def switch_training(self, on: bool) -> None:
        """Put what learns of the network into training mode, or out of it."""

    @abstractmethod
    def collect(self) -> None:
        """Take over what the last backward pass left in the tables, so that a next one can follow."""

    def step(self, factor: float, *, share: float = 1.0, team: Team = ALONE, mass: float = 1.0) -> None:
        """Apply the gradients of all backward passes since the last step, at `factor` times the plan's rates.

        `share` is how much this process's gradients count among the team's, `mass` what the rows of the whole
        batch count. Under mixed precision, a step with a gradient that is not finite is left out.
        """
        self.collect()
        found = self._shared(share / self.loss_scale.value, team)
        _multiply(self.sharded, 1 / max(mass, 1e-12))
        scale = self._scale([gradient for _, gradient in found.values()], team)
        if scale is None:
            for optimiser in self.dense.values():
                optimiser.gradient = None
            return
        for name, (rows, gradient) in found.items():
            self.tables[name].step(rows, gradient, factor * self.rates[name], scale)
        for name, optimiser in self.dense.items():
            optimiser.step(factor * self.rates[name])

    def _shared(self, multiplier: float, team: Team) -> dict[str, RowGradient]:
        """The team's gradients times `multiplier`: those of the tables by name, dense ones in place."""
        found = {}
        for name, adam in self.tables.items():
            mine = added_rows(self._collected[name])
            self._collected[name] = []
            if mine is not None and multiplier != 1:
                mine = mine[0], mine[1] * np.float32(multiplier)
            summed = added_rows(team.gather_rows(mine, adam.table.shape[1]))
            if summed is not None:
                found[name] = summed
        if multiplier != 1:
            _multiply(self._common, multiplier)
        team.add_gradients(self._common.values())
        return found

    def _scale(self, gradients: list[np.ndarray], team: Team) -> float | None:
        """Clip the dense gradients in place; the factor for the tables' own, None where one overflowed."""
        if not self.clipper.active and not self.loss_scale.active:
            return 1.0
        squares = [float(np.vdot(g, g)) for g in gradients] + [
            one.squared_norm() for one in self._common.values()
        ]
        if self.sharded:
            squares.append(team.total(sum(one.squared_norm() for one in self.sharded.values())))
        norm = float(np.sqrt(sum(squares)))
        if self.loss_scale.active:
            self.loss_scale.update(finite=math.isfinite(norm))
            if not math.isfinite(norm):
                return None
        scale = self.clipper.scale(norm)
        if scale < 1:
            _multiply(self.dense, scale)
        return scale

    def state(self) -> Iterator[tuple[str, np.ndarray]]:
        """Every array of the optimisers, by name, for a checkpoint."""
        for name, keeper in self._all().items():
            for key, array in keeper.state().items():
                yield f"{name}.{key}", array

    def restore(self, state: Arrays) -> None:
        """Take in what `state` gave."""
        for name, keeper in self._all().items():
            keeper.restore({key: state[f"{name}.{key}"] for key in keeper.state()})

    def _all(self) -> Mapping[str, RowSparseAdam | DenseOptimiser | Clipper | LossScale]:
        return {**self.tables, **self.dense, "/clip": self.clipper, "/loss scale": self.loss_scale}


def _multiply(optimisers: Mapping[str, DenseOptimiser], factor: float) -> None:
    """Multiply their gradients, in place."""
    for optimiser in optimisers.values():
        if optimiser.gradient is not None:
            optimiser.gradient *= factor
