"""Adam on the rows of a table that a batch touched.

Moments are lazy: a row's moments decay only when the row is touched, while the bias correction counts every
step of the table. On the touched rows this is what `torch.optim.SparseAdam` does, in one fused pass and
without its search for equal rows.
"""

from __future__ import annotations

import numpy as np

from tailwright.kernels.adam import adam_rows

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class RowSparseAdam:
    """The optimiser of one table: two moments as large as the table, and a step counter."""

    def __init__(self, table: np.ndarray, epsilon: float = EPSILON) -> None:
        """`table` (rows, width) float32 is changed in place."""
        self.table, self.epsilon = table, epsilon
        self.steps = 0
        self.mean = np.zeros_like(table)
        self.square = np.zeros_like(table)

    def step(self, rows: np.ndarray, gradient: np.ndarray, rate: float, scale: float = 1.0) -> None:
        """One step on distinct `rows` with `scale` times their `gradient` (len(rows), width)."""
        self.steps += 1
        rate *= (1 - BETAS[1] ** self.steps) ** 0.5 / (1 - BETAS[0] ** self.steps)
        adam_rows(self.table, self.mean, self.square, rows, gradient, scale, *BETAS, rate, self.epsilon)

    def state(self) -> dict[str, np.ndarray]:
        """What a checkpoint keeps, besides the table's own weights."""
        return {"mean": self.mean, "square": self.square, "steps": np.array([self.steps])}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.mean[:] = state["mean"]
        self.square[:] = state["square"]
        self.steps = int(state["steps"][0])
