"""One Adam step on some rows of a matrix, with moments of 16 bits a number."""

from __future__ import annotations

import numpy as np
from numba import njit

MOST_MEAN, MOST_ROOT = 32_767, 65_535  # the largest numbers of int16 and uint16


# The largest of many numbers is found several at a time if none is NaN; the loss has been checked for that.
# With Python's own error for a division by zero, the weights are not changed several at a time.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nnan", "nsz"})
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
    first: int,
    last: int,
) -> None:
    """What `adam_rows` does to touched[first:last], whose moments are then rounded.

    A row's largest moment is the largest number of its type. No root is rounded to 0.
    """
    rate, factor, eps = np.float32(step_size), np.float32(scale), np.float32(epsilon)
    keep1, new1 = np.float32(beta1), np.float32(1 - beta1)
    keep2, new2 = np.float32(beta2), np.float32(1 - beta2)
    half, one, none = np.float32(0.5), np.float32(1), np.float32(0)
    width = weight.shape[1]
    means, roots = np.empty(width, dtype=np.float32), np.empty(width, dtype=np.float32)
    for i in range(first, last):
        row = touched[i]
        w, m, r, g = weight[row], mean[row], root[row], gradient[i]
        of_mean, of_root = units[row, 0], units[row, 1]
        # A loop for each step: a single one is not vectorised, and takes twice as long.
        for d in range(width):
            scaled, before = factor * g[d], of_root * np.float32(r[d])
            means[d] = keep1 * (of_mean * np.float32(m[d])) + new1 * scaled
            roots[d] = np.sqrt(keep2 * before * before + new2 * scaled * scaled)
        for d in range(width):
            w[d] -= rate * means[d] / (roots[d] + eps)
        largest_mean, largest_root = none, none
        for d in range(width):
            largest_mean, largest_root = max(largest_mean, abs(means[d])), max(largest_root, roots[d])
        units[row, 0] = largest_mean / np.float32(MOST_MEAN)
        units[row, 1] = largest_root / np.float32(MOST_ROOT)
        by_mean = np.float32(MOST_MEAN) / largest_mean if largest_mean > none else none
        by_root = np.float32(MOST_ROOT) / largest_root if largest_root > none else none
        for d in range(width):
            m[d] = np.int32(np.floor(means[d] * by_mean + half))
            r[d] = np.int32(max(roots[d] * by_root + half, one))
