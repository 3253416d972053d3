"""Adam with moments of 16 bits: equal to a plain twin, and close to Adam with whole ones."""

from __future__ import annotations

import numpy as np
import pytest

from tailwright.kernels.adam import adam_rows
from tailwright.kernels.rounded_adam import MOST_MEAN, MOST_ROOT, adam_rounded_rows

HOW = (0.5, 0.9, 0.999, 0.01, 1e-8)  # scale, betas, step size, epsilon


def numbers(key: int, *shape: int) -> np.ndarray:
    return np.random.Generator(np.random.Philox(key=key)).normal(size=shape).astype(np.float32)


def zeros(rows: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Moments before the first step."""
    return (
        np.zeros((rows, width), np.int16),
        np.zeros((rows, width), np.uint16),
        np.zeros((rows, 2), np.float32),
    )


def plain_step(weight, mean, root, units, touched, gradient, scale, beta1, beta2, step_size, epsilon):
    """The same by whole arrays."""
    scaled = np.float32(scale) * gradient
    first = np.float32(beta1) * (units[touched, :1] * mean[touched]) + np.float32(1 - beta1) * scaled
    before = units[touched, 1:] * root[touched]
    second = np.sqrt(np.float32(beta2) * before**2 + np.float32(1 - beta2) * scaled**2)
    weight[touched] -= np.float32(step_size) * first / (second + np.float32(epsilon))
    largest = np.stack([np.abs(first).max(axis=1) / MOST_MEAN, second.max(axis=1) / MOST_ROOT], axis=1)
    units[touched] = largest
    by = np.where(largest > 0, largest, np.inf)
    mean[touched] = np.floor(first / by[:, :1] + 0.5)
    root[touched] = np.maximum(second / by[:, 1:] + 0.5, 1)


def test_it_equals_its_plain_twin():
    (one, other), ours, theirs = (numbers(1, 9, 33) for _ in range(2)), zeros(9, 33), zeros(9, 33)
    for step in range(20):
        random = np.random.Generator(np.random.Philox(key=step))
        rows, gradient = random.choice(9, size=4, replace=False).astype(np.int32), numbers(100 + step, 4, 33)
        gradient[0] = 0 if step % 3 == 0 else gradient[0]
        adam_rounded_rows(one, *ours, rows, gradient, *HOW, 0, 4)
        plain_step(other, *theirs, rows, gradient, *HOW)
    np.testing.assert_allclose(one, other, atol=1e-4)  # a tie may be rounded either way
    np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-4)
    for mine, plain in zip(ours[:2], theirs[:2], strict=True):
        assert np.abs(mine.astype(int) - plain.astype(int)).max() <= 8


def test_a_weight_is_off_by_at_most_a_unit_of_its_row_in_relation_to_its_own_gradient():
    table, whole = numbers(2, 50, 64), numbers(2, 50, 64)
    moments, mean, square = zeros(50, 64), np.zeros_like(table), np.zeros_like(table)
    rows, start = np.arange(50, dtype=np.int32), table.copy()
    sizes = 10 ** np.random.Generator(np.random.Philox(key=3)).uniform(-4, 0, 64).astype(np.float32)
    for step in range(300):
        gradient = sizes * (numbers(1000 + step, 50, 64) + np.float32(0.5))
        adam_rounded_rows(table, *moments, rows, gradient, *HOW, 0, 50)
        adam_rows(whole, mean, square, rows, gradient, *HOW)
    off = np.abs(table - whole).mean(axis=0) / np.abs(whole - start).mean(axis=0)
    unit = 1 / MOST_MEAN / (sizes / sizes.max())
    assert (off < unit + 1e-4).all()  # the second is what float32 leaves


@pytest.mark.parametrize("cut", [0, 3, 7])
def test_blocks_of_rows_are_stepped_as_the_whole(cut):
    tables, rows, gradient = (
        [numbers(4, 7, 5) for _ in range(2)],
        np.arange(7, dtype=np.int32),
        numbers(5, 7, 5),
    )
    adam_rounded_rows(tables[0], *zeros(7, 5), rows, gradient, *HOW, 0, 7)
    moments = zeros(7, 5)
    for block in ((0, cut), (cut, 7)):
        adam_rounded_rows(tables[1], *moments, rows, gradient, *HOW, *block)
    np.testing.assert_array_equal(*tables)
