"""Row-sparse Adam is torch's SparseAdam on the rows that a batch touches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tailwright.encoders.row_table import RowTable
from tailwright.training.sparse_adam import RoundedRowAdam, RowSparseAdam


def numbers(key: int, *shape: int) -> np.ndarray:
    return np.random.Generator(np.random.Philox(key=key)).normal(size=shape).astype(np.float32)


def test_it_equals_torch_sparse_adam_over_many_steps():
    start = numbers(1, 9, 5)
    table = RowTable(start.copy())
    ours = RowSparseAdam(table.array)
    parameter = torch.nn.Parameter(torch.from_numpy(start.copy()))
    theirs = torch.optim.SparseAdam([parameter], lr=0.01)
    for step in range(20):
        random = np.random.Generator(np.random.Philox(key=step))
        rows = np.sort(random.choice(9, size=4, replace=False)).astype(np.int32)
        gradient = numbers(100 + step, 4, 5)
        ours.step(rows, gradient, 0.01)
        parameter.grad = torch.sparse_coo_tensor(
            torch.from_numpy(rows.astype(np.int64))[None],
            torch.from_numpy(gradient),
            (9, 5),
            check_invariants=True,
        )
        theirs.step()
    np.testing.assert_allclose(table.array, parameter.detach().numpy(), rtol=2e-5, atol=1e-6)


def test_rows_that_are_not_touched_stay_bit_for_bit():
    start = numbers(2, 6, 3)
    table = RowTable(start.copy())
    optimiser = RowSparseAdam(table.array)
    optimiser.step(np.array([1, 4], dtype=np.int32), numbers(3, 2, 3), 0.1)
    changed = (table.array != start).any(axis=1)
    assert changed.tolist() == [False, True, False, False, True, False]
    assert (optimiser.mean[~changed] == 0).all()


def test_rounded_moments_end_near_whole_ones_and_are_restored_as_they_were():
    whole, rounded, resumed = (numbers(8, 2000, 16) for _ in range(3))
    adams = RowSparseAdam(whole), RoundedRowAdam(rounded)
    for step in range(10):
        random = np.random.Generator(np.random.Philox(key=step))
        rows = np.sort(random.choice(2000, size=1500, replace=False)).astype(np.int32)
        gradient = numbers(200 + step, 1500, 16)
        for adam in adams:
            adam.step(rows, gradient, 0.01)
        if step == 4:
            resumed[:], state = rounded, {name: array.copy() for name, array in adams[1].state().items()}
            adams = (*adams, RoundedRowAdam(resumed))
            adams[2].restore(state)
    np.testing.assert_allclose(rounded, whole, atol=1e-4)
    np.testing.assert_array_equal(rounded, resumed)


def test_scale_multiplies_the_gradient():
    tables = [RowTable(numbers(4, 3, 2)) for _ in range(2)]
    rows, gradient = np.array([0, 2], dtype=np.int32), numbers(5, 2, 2)
    for table, scale, g in zip(tables, (0.5, 1.0), (gradient, gradient / 2), strict=True):
        optimiser = RowSparseAdam(table.array)
        optimiser.step(rows, g, 0.1, scale)
        optimiser.step(rows, numbers(6, 2, 2), 0.1)
    np.testing.assert_array_equal(tables[0].weight, tables[1].weight)


def test_the_rows_of_a_table_collect_the_gradient_of_every_pass_over_a_batch():
    table = RowTable(numbers(7, 4, 2))
    (table(np.array([1, 3])) * 3).sum().backward()
    touched, gradient = table.take_gradient()
    assert touched.tolist() == [1, 3]
    assert (gradient == 3).all()
    assert table.take_gradient() is None
    first, second, unused = table(np.array([1, 3])), table(np.array([0, 3])), table(np.array([2]))
    (first.sum() + 2 * second.sum() + 0 * unused.detach().sum()).backward()
    touched, gradient = table.take_gradient()
    assert touched.tolist() == [0, 1, 3]
    assert gradient[:, 0].tolist() == [2, 1, 3]
    table.frozen = True
    assert not table(np.array([0])).requires_grad


def test_a_table_must_be_a_float32_matrix():
    with pytest.raises(ValueError, match="got float64"):
        RowTable(np.zeros((2, 2)))
