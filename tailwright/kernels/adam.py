"""One Adam step on some rows of a matrix, in one pass over these rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tailwright.kernels.blocks import run_rows

FEWEST_ROWS = 512  # of a block: below this a thread costs more than it saves


def adam_rows(
    weight: np.ndarray,  # (rows, width) float32
    mean: np.ndarray,  # (rows, width) float32
    square: np.ndarray,  # (rows, width) float32
    touched: np.ndarray,  # (some,) distinct rows
    gradient: np.ndarray,  # (some, width) float32
    scale: float,
    beta1: float,
    beta2: float,
    step_size: float,
    epsilon: float,
) -> None:
    """Update the moments and the weights of the touched rows; `scale` multiplies the gradient first."""
    factors: tuple[Any, ...] = tuple(
        map(np.float32, (scale, beta1, 1 - beta1, beta2, 1 - beta2, step_size, epsilon))
    )
    arguments: tuple[Any, ...] = (weight, mean, square, touched, gradient, *factors)
    run_rows(lambda first, last: _adam_rows(first, last, *arguments), len(touched), FEWEST_ROWS)


# With Python's own error for a division by zero, the loop is not vectorised, and takes five times as long.
@njit(cache=True, nogil=True, error_model="numpy")
def _adam_rows(
    first: int,
    last: int,
    weight: np.ndarray,
    mean: np.ndarray,
    square: np.ndarray,
    touched: np.ndarray,
    gradient: np.ndarray,
    scale: np.float32,
    keep1: np.float32,
    new1: np.float32,
    keep2: np.float32,
    new2: np.float32,
    rate: np.float32,
    epsilon: np.float32,
) -> None:
    for i in range(first, last):
        row = touched[i]
        w, m, v, g = weight[row], mean[row], square[row], gradient[i]
        for d in range(len(g)):
            scaled = scale * g[d]
            moment = keep1 * m[d] + new1 * scaled
            second = keep2 * v[d] + new2 * scaled * scaled
            m[d] = moment
            v[d] = second
            w[d] -= rate * moment / (np.sqrt(second) + epsilon)
