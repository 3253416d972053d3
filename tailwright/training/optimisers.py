"""The optimisers of a phase: row-sparse Adam for tables, AdamW for dense parts, one clipped step for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import torch

from tailwright.encoders.row_table import RowTable
from tailwright.training.dense_adam import DenseAdam
from tailwright.training.phases import Arrays, Parts, Plan
from tailwright.training.sparse_adam import RowSparseAdam


class Optimisers:
    """Steps the parts that a plan trains, and freezes the others."""

    def __init__(self, parts: Parts, plan: Plan) -> None:
        unknown = sorted(set(plan.rates) - set(parts))
        if unknown:
            raise ValueError(f"the plan trains {unknown[0]!r}, which is not a part")
        self.plan = plan
        self.tables: dict[str, RowSparseAdam] = {}
        self.dense: dict[str, DenseAdam] = {}
        for name, part in parts.items():
            trained = name in plan.rates
            if isinstance(part, RowTable):
                part.frozen = not trained
                if trained:
                    self.tables[name] = RowSparseAdam(part)
            else:
                part.requires_grad_(trained)
                if trained:
                    self.dense[name] = DenseAdam(part, plan.weight_decay)

    def step(self, factor: float) -> None:
        """Apply the gradients of the last backward pass, at `factor` times the plan's rates."""
        touched = {name: table.table.take_gradient() for name, table in self.tables.items()}
        found = {name: gradient for name, gradient in touched.items() if gradient is not None}
        scale = self._clip([gradient for _, gradient in found.values()])
        for name, (rows, gradient) in found.items():
            self.tables[name].step(rows, gradient, factor * self.plan.rates[name], scale)
        for name, part in self.dense.items():
            part.step(factor * self.plan.rates[name])

    def _clip(self, gradients: list[np.ndarray]) -> float:
        """Scale dense gradients to the plan's norm in place; the factor that is left for the tables."""
        if self.plan.clip is None:
            return 1.0
        dense = [adam.part.grad for adam in self.dense.values() if adam.part.grad is not None]
        squares = [float(np.vdot(g, g)) for g in gradients] + [_square(g) for g in dense]
        norm = float(np.sqrt(sum(squares)))
        scale = min(1.0, self.plan.clip / max(norm, 1e-12))
        if scale < 1:
            for gradient in dense:
                gradient.mul_(scale)
        return scale

    def state(self) -> Iterator[tuple[str, np.ndarray]]:
        """Every array of the optimisers, by name, for a checkpoint."""
        for name, adam in self._all().items():
            for key, array in adam.state().items():
                yield f"{name}.{key}", array

    def restore(self, state: Arrays) -> None:
        """Take in what `state` gave."""
        for name, adam in self._all().items():
            adam.restore({key: state[f"{name}.{key}"] for key in adam.state()})

    def _all(self) -> Mapping[str, RowSparseAdam | DenseAdam]:
        return {**self.tables, **self.dense}


def _square(gradient: torch.Tensor) -> float:
    """The sum of squares, row by row: exact for millions, and without a copy of the size of the gradient."""
    rows = gradient.reshape(len(gradient) if gradient.dim() > 1 else 1, -1)
    return float(torch.linalg.vector_norm(rows, dim=1).square().sum())
