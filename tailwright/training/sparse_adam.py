"""Adam on the rows of a table that a batch touched.

Moments are lazy: a row's moments decay only when the row is touched, while the bias correction counts every
step of the table. On the touched rows this is what `torch.optim.SparseAdam` does, in one fused pass and
without its search for equal rows.
"""

from __future__ import annotations

import numpy as np

from tailwright.kernels.adam import adam_rows
from tailwright.kernels.blocks import run_rows
from tailwright.kernels.rounded_adam import adam_rounded_rows

BETAS = (0.9, 0.999)
EPSILON = 1e-8
FEWEST_ROWS = 512  # of a block: with fewer, a thread costs more than it saves


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
        rate *= corrected(self.steps)
        adam_rows(self.table, self.mean, self.square, rows, gradient, scale, *BETAS, rate, self.epsilon)

    def state(self) -> dict[str, np.ndarray]:
        """What a checkpoint keeps, besides the table's own weights."""
        return {"mean": self.mean, "square": self.square, "steps": np.array([self.steps])}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.mean[:] = state["mean"]
        self.square[:] = state["square"]
        self.steps = int(state["steps"][0])


class RoundedRowAdam(RowSparseAdam):
    """The same with moments of 16 bits a number, which a large table is a third smaller by.

    A row's moments are multiples of a 32,767th of its largest first moment and of a 65,535th of its largest
    root of a second moment. Rounded more coarsely, the root of a frequent row would no longer decay. A step
    on a gradient that is a thousandth of its row's largest is off by 1 %, by less on larger ones; of twin's
    roots on winapi-seealso, 1 in 2,700 is that small.
    """

    def __init__(self, table: np.ndarray, epsilon: float = EPSILON) -> None:
        self.table, self.epsilon = table, epsilon
        self.steps = 0
        self.mean, self.root = np.zeros(table.shape, np.int16), np.zeros(table.shape, np.uint16)
        self.units = np.zeros((len(table), 2), dtype=np.float32)

    def step(self, rows: np.ndarray, gradient: np.ndarray, rate: float, scale: float = 1.0) -> None:
        self.steps += 1
        rate *= corrected(self.steps)
        arrays = (self.table, self.mean, self.root, self.units, rows, gradient)
        how = (scale, *BETAS, rate, self.epsilon)
        run_rows(lambda *block: adam_rounded_rows(*arrays, *how, *block), len(rows), FEWEST_ROWS)

    def state(self) -> dict[str, np.ndarray]:
        steps = np.array([self.steps])
        return {"mean": self.mean, "root": self.root, "units": self.units, "steps": steps}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        for name in ("mean", "root", "units"):
            getattr(self, name)[:] = state[name]
        self.steps = int(state["steps"][0])


def corrected(steps: int) -> float:
    """The factor on the rate that makes up for moments that started at zero."""
    return float((1 - BETAS[1] ** steps) ** 0.5 / (1 - BETAS[0] ** steps))
