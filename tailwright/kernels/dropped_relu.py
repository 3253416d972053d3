"""relu and dropout in one pass over their input, and their gradient in one more."""

from __future__ import annotations

import numpy as np
from numba import njit

from tailwright.kernels.blocks import run_rows

FEWEST_CELLS = 1 << 16  # of a block: with fewer, a thread costs more than it saves


def dropped_relu(
    x: np.ndarray,  # (cells,) float32
    drawn: np.ndarray,  # (cells,) uint16
    limit: int,  # 1 to 65,536
    factor: float,
    out: np.ndarray,  # (cells,) float32, filled
) -> None:
    """out = factor x where x is positive and what was drawn for the cell is below `limit`, else 0."""
    last_kept, scale = np.uint16(limit - 1), np.float32(factor)

    def block(first: int, last: int) -> None:
        some = slice(first, last)
        _dropped_relu(x[some], drawn[some], last_kept, scale, out[some])

    run_rows(block, len(x), FEWEST_CELLS)


def dropped_relu_gradient(
    out: np.ndarray,  # (cells,) float32: what `dropped_relu` gave
    gradient: np.ndarray,  # (cells,) float32: of out
    factor: float,
    of_x: np.ndarray,  # (cells,) float32, filled
) -> None:
    """The gradient of x, which a cell of `out` lets through if it is positive."""
    scale = np.float32(factor)

    def block(first: int, last: int) -> None:
        some = slice(first, last)
        _gradient(out[some], gradient[some], scale, of_x[some])

    run_rows(block, len(out), FEWEST_CELLS)


@njit(cache=True, nogil=True)
def _dropped_relu(
    x: np.ndarray, drawn: np.ndarray, last: np.uint16, factor: np.float32, out: np.ndarray
) -> None:
    nothing = np.float32(0)
    for i in range(len(x)):
        kept = x[i] * factor if drawn[i] <= last else nothing
        out[i] = max(kept, nothing)


@njit(cache=True, nogil=True)
def _gradient(out: np.ndarray, gradient: np.ndarray, factor: np.float32, of_x: np.ndarray) -> None:
    nothing = np.float32(0)
    for i in range(len(out)):
        of_x[i] = gradient[i] * factor if out[i] > nothing else nothing
