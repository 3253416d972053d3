"""One Adam step on some rows of a matrix, in one pass over these rows; with moments of 32 or of 16 bits."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

MOST_MEAN, MOST_ROOT = 32_767, 65_535  # the largest numbers of int16 and uint16


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


# Of several numbers the largest is found at a time, which takes that none is NaN: the loss was checked for that.
@njit(cache=True, parallel=True, fastmath={"contract", "reassoc", "nnan", "nsz"})
def adam_rounded_rows(
    weight: np.ndarray,  # (rows, width) float32
    mean: np.ndarray,  # (rows, width) int16: the first moment, in units of its row
    root: np.ndarray,  # (rows, width) uint16: the root of the second moment, in units of its row
    units: np.ndarray,  # (rows, 2) float32: those of mean and root
    touched: np.ndarray,  # (some,) distinct rows
    gradient: np.ndarray,  # (some, width) float32
    scale: float,
    beta1: float,
    beta2: float,
    step_size: float,
    epsilon: float,
    threads: int,
) -> None:
    """`adam_rows` with moments that are rounded to 16 bits once the weights have been updated by them.

    A row's largest moment is the largest number of its type. No root is rounded to 0.
    """
    rate, factor, eps = np.float32(step_size), np.float32(scale), np.float32(epsilon)
    keep1, new1 = np.float32(beta1), np.float32(1 - beta1)
    keep2, new2 = np.float32(beta2), np.float32(1 - beta2)
    half, one, none = np.float32(0.5), np.float32(1), np.float32(0)
    width = weight.shape[1]
    for thread in prange(threads):
        firsts, roots = np.empty(width, dtype=np.float32), np.empty(width, dtype=np.float32)
        for i in range(len(touched) * thread // threads, len(touched) * (thread + 1) // threads):
            row = touched[i]
            w, m, r, g = weight[row], mean[row], root[row], gradient[i]
            of_mean, of_root = units[row, 0], units[row, 1]
            # A loop for each step: one loop for all would not be vectorised, and takes twice as long.
            for d in range(width):
                scaled, before = factor * g[d], of_root * np.float32(r[d])
                firsts[d] = keep1 * (of_mean * np.float32(m[d])) + new1 * scaled
                roots[d] = np.sqrt(keep2 * before * before + new2 * scaled * scaled)
            for d in range(width):
                w[d] -= rate * firsts[d] / (roots[d] + eps)
            largest, widest = none, none
            for d in range(width):
                largest, widest = max(largest, abs(firsts[d])), max(widest, roots[d])
            units[row, 0] = largest / np.float32(MOST_MEAN)
            units[row, 1] = widest / np.float32(MOST_ROOT)
            by_mean = np.float32(MOST_MEAN) / largest if largest > none else none
            by_root = np.float32(MOST_ROOT) / widest if widest > none else none
            for d in range(width):
                m[d] = np.int32(np.floor(firsts[d] * by_mean + half))
                r[d] = np.int32(max(roots[d] * by_root + half, one))
