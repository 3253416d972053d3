"""The optimisers of a phase: row-sparse Adam for tables, AdamW or Adafactor for the rest, clipped as one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from tailwright.encoders.row_table import RowGradient, RowTable, added_rows
from tailwright.training.clipping import Clipper
from tailwright.training.dense_adam import DenseAdam, decay_of
from tailwright.training.phases import Plan
from tailwright.training.precision import LossScale
from tailwright.training.sparse_adam import RowSparseAdam
from tailwright.training.team import ALONE, Team
from tailwright.training.weights import Arrays, rates_by_name

if TYPE_CHECKING:  # transformers, which few trainings need
    from tailwright.training.adafactor import FixedRateAdafactor


class Optimisers:
    """Steps the parameters that a plan trains, and freezes the others."""

    def __init__(self, network: nn.Module, plan: Plan) -> None:
        self.network, self.plan, self.rates = network, plan, rates_by_name(network, plan.rates)
        self.tables: dict[str, RowSparseAdam] = {}
        self.dense: dict[str, DenseAdam | FixedRateAdafactor] = {}
        tables = {id(module.weight): module for module in network.modules() if isinstance(module, RowTable)}
        for name, parameter in network.named_parameters():
            trained, table = name in self.rates, tables.get(id(parameter))
            if table is not None:
                table.frozen = not trained
                if trained:
                    self.tables[name] = RowSparseAdam(table, plan.epsilon)
                continue
            parameter.requires_grad_(trained)
            if trained:
                decay = decay_of(plan.weight_decay, name, parameter.shape)
                self.dense[name] = self._dense(parameter, decay)
        self.clipper = Clipper(plan.clip)
        on_cuda = any(adam.parameter.is_cuda for adam in self.dense.values())
        self.loss_scale = LossScale(active=plan.precision == "mixed" and on_cuda)
        self._collected: dict[str, list[RowGradient]] = {name: [] for name in self.tables}
        # Dropout layers and such have no parameters; a child that has some and learns none is frozen.
        learning = {
            name: child
            for name, child in network.named_children()
            if next(child.parameters(), None) is None or any(n.startswith(f"{name}.") for n in self.rates)
        }
        self._learning = list(learning.values())
        # What is trained, and what learning children keep beside it, such as batch statistics.
        buffers = [f"{name}.{n}" for name, child in learning.items() for n, _ in child.named_buffers()]
        self.changed = {*self.rates, *buffers}

    def _dense(self, parameter: torch.Tensor, decay: float) -> DenseAdam | FixedRateAdafactor:
        if self.plan.optimiser == "adamw":
            return DenseAdam(parameter, decay, self.plan.epsilon)
        from tailwright.training.adafactor import FixedRateAdafactor

        return FixedRateAdafactor(parameter, decay)

    def switch_training(self, on: bool) -> None:
        """Put the network's children that learn into training mode, or out of it."""
        self.network.training = on
        for child in self._learning:
            child.train(on)

    def collect(self) -> None:
        """Take over what the last backward pass left in the tables, so that a next one can follow."""
        for name, adam in self.tables.items():
            gradient = adam.table.take_gradient()
            if gradient is not None:
                self._collected[name].append(gradient)

    def step(self, factor: float, *, share: float = 1.0, team: Team = ALONE) -> None:
        """Apply the gradients of all backward passes since the last step, at `factor` times the plan's rates.

        `share` is how much this process's gradients count among the team's. Under mixed precision, a step
        with a gradient that is not finite is left out.
        """
        self.collect()
        found = self._shared(share / self.loss_scale.value, team)
        scale = self._scale([gradient for _, gradient in found.values()])
        if scale is None:
            for adam in self.dense.values():
                adam.parameter.grad = None
            return
        for name, (rows, gradient) in found.items():
            self.tables[name].step(rows, gradient, factor * self.rates[name], scale)
        for name, adam in self.dense.items():
            adam.step(factor * self.rates[name])

    def _shared(self, multiplier: float, team: Team) -> dict[str, RowGradient]:
        """The team's gradients times `multiplier`: those of the tables by name, dense ones in `grad`."""
        found = {}
        for name, table in self.tables.items():
            mine = added_rows(self._collected[name])
            self._collected[name] = []
            if mine is not None and multiplier != 1:
                mine = mine[0], mine[1] * np.float32(multiplier)
            summed = added_rows(team.gather_rows(mine, table.table.array.shape[1]))
            if summed is not None:
                found[name] = summed
        dense = {name: adam.parameter for name, adam in self.dense.items()}
        for parameter in dense.values():
            if parameter.grad is not None and multiplier != 1:
                parameter.grad.mul_(multiplier)
        team.add_gradients(dense)
        return found

    def _scale(self, gradients: list[np.ndarray]) -> float | None:
        """Clip the dense gradients in place; the factor for the tables' own, None where one overflowed."""
        if not self.clipper.active and not self.loss_scale.active:
            return 1.0
        dense = [adam.parameter.grad for adam in self.dense.values() if adam.parameter.grad is not None]
        squares = [float(np.vdot(g, g)) for g in gradients] + [_square(g) for g in dense]
        norm = float(np.sqrt(sum(squares)))
        if self.loss_scale.active:
            self.loss_scale.update(finite=math.isfinite(norm))
            if not math.isfinite(norm):
                return None
        scale = self.clipper.scale(norm)
        if scale < 1:
            for gradient in dense:
                gradient.mul_(scale)
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

    def _all(self) -> Mapping[str, RowSparseAdam | DenseAdam | FixedRateAdafactor | Clipper | LossScale]:
        return {**self.tables, **self.dense, "/clip": self.clipper, "/loss scale": self.loss_scale}


def _square(gradient: torch.Tensor) -> float:
    """The sum of squares, row by row: exact for millions, and without a copy of the size of the gradient."""
    rows = gradient.reshape(len(gradient) if gradient.dim() > 1 else 1, -1)
    return float(torch.linalg.vector_norm(rows, dim=1).square().sum())
