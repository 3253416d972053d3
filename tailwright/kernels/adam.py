"""One Adam step on some rows of a matrix, in one pass over these rows."""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True, parallel=True)
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
    rate, factor, eps = np.float32(step_size), np.float32(scale), np.float32(epsilon)
    keep1, new1 = np.float32(beta1), np.float32(1 - beta1)
    keep2, new2 = np.float32(beta2), np.float32(1 - beta2)
    for i in prange(len(touched)):
        row = touched[i]
        w, m, v, g = weight[row], mean[row], square[row], gradient[i]
        for d in range(len(g)):
            scaled = factor * g[d]
            first = keep1 * m[d] + new1 * scaled
            second = keep2 * v[d] + new2 * scaled * scaled
            m[d] = first
            v[d] = second
            w[d] -= rate * first / (np.sqrt(second) + eps)
