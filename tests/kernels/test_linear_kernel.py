"""The solver of one-versus-rest classifiers: equal to a plain minimiser of the same objective."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy import optimize, sparse

from tailwright.data.pairs import csr_arrays
from tailwright.kernels.csr import (
    IGNORED,
    by_feature,
    group_targets,
    local_rows,
    local_targets,
    transposed,
)
from tailwright.kernels.linear import (
    LOGISTIC,
    MANY,
    SQUARED_HINGE,
    hinge_step,
    logistic_step,
    solve_classifiers,
)

# Kernels call them, so these are compiled without an entry from Python.
HINGE_STEP, LOGISTIC_STEP = njit(hinge_step.py_func), njit(logistic_step.py_func)


def losses(margins: np.ndarray, targets: np.ndarray, loss: int) -> np.ndarray:
    if loss == SQUARED_HINGE:
        return targets * np.maximum(0, 1 - margins) ** 2 + (1 - targets) * np.maximum(0, 1 + margins) ** 2
    return targets * np.logaddexp(0, -margins) + (1 - targets) * np.logaddexp(0, margins)


def objective(w: np.ndarray, x: np.ndarray, costs: np.ndarray, targets: np.ndarray, loss: int) -> float:
    """The last entry of w is the bias; rows with cost 0 give no loss."""
    margins = x @ w[:-1] + w[-1]
    return 0.5 * w @ w + float(costs @ losses(margins, targets, loss))


def plain_solution(x: np.ndarray, costs: np.ndarray, targets: np.ndarray, loss: int) -> np.ndarray:
    """The same by a general minimiser on the dense problem."""
    found = optimize.minimize(
        objective, np.zeros(x.shape[1] + 1), (x, costs, targets, loss), method="BFGS", options={"gtol": 1e-7}
    )
    return found.x


def some_problem(rows: int, columns: int, classifiers: int, seed: int) -> tuple[np.ndarray, ...]:
    """Dense features, costs with zeros among them, and targets that are hard, soft and ignored."""
    random = np.random.default_rng(seed)
    x = random.random((rows, columns)) * (random.random((rows, columns)) < 0.4)
    costs = random.choice([0.0, 0.5, 1.0, 2.0], rows)
    values = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.3, float(IGNORED)]
    targets = random.choice(values, (classifiers, rows))
    return x.astype(np.float32), costs.astype(np.float32), targets.astype(np.float32)


NONE = np.empty(0, dtype=np.float32)


def solved(
    x, costs, targets, loss, *, made=NONE, factors=NONE, first=0, last=None, tolerance=1e-5, prune=0.0, seed=0
):
    """(classifiers, features + 1) dense weights, the bias last, from the kernel."""
    last = len(targets) if last is None else last
    features = csr_arrays(sparse.csr_array(x))
    columns = transposed(*features, x.shape[1])
    parts = csr_arrays(sparse.csr_array(targets))
    found, classifiers, weights, biases = solve_classifiers(
        *features, *columns, costs, made, factors, *parts, first, last, loss, tolerance, prune, seed
    )
    dense = np.zeros((last - first, x.shape[1] + 1), dtype=np.float32)
    dense[classifiers - first, found] = weights
    dense[:, -1] = biases
    return dense


@pytest.mark.parametrize("loss", [SQUARED_HINGE, LOGISTIC])
@pytest.mark.parametrize("seed", range(5))
def test_the_solver_finds_the_optimum_of_a_plain_minimiser(loss, seed):
    x, costs, targets = some_problem(40, 8, 3, seed)
    found = solved(x, costs, targets, loss)
    for w, target in zip(found, targets, strict=True):
        counted = np.where(target == IGNORED, 0, costs)
        shown = np.maximum(target, 0)
        best = plain_solution(x, counted, shown, loss)
        assert objective(w, x, counted, shown, loss) == pytest.approx(
            objective(best, x, counted, shown, loss), abs=1e-4
        )
        assert np.allclose(w, best, atol=5e-3)


@pytest.mark.parametrize("loss", [SQUARED_HINGE, LOGISTIC])
def test_a_factor_multiplies_the_cost_of_made_rows_for_its_classifier_alone(loss):
    x, costs, targets = some_problem(40, 8, 3, seed=1)
    made = np.resize(np.array([1, 0, 1], dtype=np.float32), 40)
    factors = np.array([0.25, 1, 2], dtype=np.float32)
    found = solved(x, costs, targets, loss, made=made, factors=factors)
    for number, factor in enumerate(factors):
        own = np.where(made == 1, costs * factor, costs)
        alone = solved(x, own, targets, loss, first=number, last=number + 1)
        assert np.array_equal(found[[number]], alone)


@pytest.mark.parametrize("loss", [SQUARED_HINGE, LOGISTIC])
def test_rows_found_on_the_way_count_as_much_as_those_of_the_start(loss):
    """Many more rows than the working set starts with, and a rare label: the optimum is still that of all."""
    random = np.random.default_rng(0)
    x = sparse.random_array((3000, 30), density=0.15, rng=random, dtype=np.float32).toarray()
    targets = np.zeros((1, 3000), dtype=np.float32)
    targets[0, random.choice(3000, 5, replace=False)] = 1
    costs = np.ones(3000, dtype=np.float32)
    w = solved(x, costs, targets, loss, tolerance=0.01)[0]
    best = plain_solution(x, costs, targets[0], loss)
    assert objective(w, x, costs, targets[0], loss) <= 1.05 * objective(best, x, costs, targets[0], loss)


@pytest.mark.parametrize("loss", [SQUARED_HINGE, LOGISTIC])
def test_many_rows_which_are_visited_in_runs_have_the_same_optimum(loss):
    random = np.random.default_rng(1)
    x = sparse.random_array((MANY + 3, 6), density=0.3, rng=random, dtype=np.float32).toarray()
    targets = (x @ random.normal(size=6) + random.normal(size=len(x)) > 1.2).astype(np.float32)
    costs = np.full(len(x), 0.01, dtype=np.float32)
    w = solved(x, costs, targets[None], loss, tolerance=0.01)[0]
    best = plain_solution(x, costs, targets, loss)
    assert objective(w, x, costs, targets, loss) <= 1.01 * objective(best, x, costs, targets, loss)


def test_a_block_of_classifiers_is_solved_as_the_whole():
    x, costs, targets = some_problem(60, 10, 6, seed=1)
    whole = solved(x, costs, targets, SQUARED_HINGE, tolerance=0.1)
    part = solved(x, costs, targets, SQUARED_HINGE, first=2, last=5, tolerance=0.1)
    assert np.array_equal(part, whole[2:5])


def test_small_weights_are_dropped_and_no_others():
    x, costs, targets = some_problem(60, 10, 6, seed=2)
    whole = solved(x, costs, targets, SQUARED_HINGE)
    pruned = solved(x, costs, targets, SQUARED_HINGE, prune=0.2)
    kept = np.abs(whole) >= 0.2
    kept[:, -1] = True
    assert np.array_equal(pruned, np.where(kept, whole, 0))


def test_a_classifier_without_a_row_that_counts_has_no_weight():
    x = np.eye(3, dtype=np.float32)
    found = solved(x, np.zeros(3, np.float32), np.ones((1, 3), np.float32), SQUARED_HINGE)
    assert np.array_equal(found, np.zeros((1, 4)))


@given(st.floats(-4, 4), st.floats(0.1, 3), st.floats(0.1, 4), st.floats(0, 1), st.sampled_from([0.0, 0.5]))
def test_a_step_ends_where_the_dual_value_is_minus_the_slope_of_the_loss(rest, square, cost, target, b):
    margin = rest + b * square
    for step, slope in (
        (HINGE_STEP, lambda z: 2 * ((1 - target) * max(0, 1 + z) - target * max(0, 1 - z))),
        (LOGISTIC_STEP, lambda z: 1 / (1 + np.exp(-z)) - target),
    ):
        new = step(*(np.float32(v) for v in (margin, b, square, cost, target)))
        assert new == pytest.approx(-cost * slope(rest + new * square), abs=2e-4 * (1 + cost * square))


def test_group_targets_are_the_largest_target_below_that_is_not_ignored():
    targets = sparse.csr_array(np.array([[0.5, 1, 0, 0.25], [1, 0, 0, 0], [0, 0, 0, 0]], np.float32))
    ignored = sparse.csr_array(np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]], np.float32))
    node_of_label = np.array([0, 0, 1, 1], dtype=np.int32)
    parts = group_targets(*csr_arrays(targets), *csr_arrays(ignored)[:2], node_of_label, 2)
    dense = sparse.csr_array((parts[2], parts[1], parts[0]), shape=(3, 2)).toarray()
    assert dense.tolist() == [[0.5, 0.25], [-1, -1], [0, -1]]


def test_labels_outside_the_tree_have_no_node():
    targets = sparse.csr_array(np.array([[1, 1]], np.float32))
    none = sparse.csr_array((1, 2), dtype=np.float32)
    node_of_label = np.array([-1, 0], dtype=np.int32)
    _, nodes, values = group_targets(*csr_arrays(targets), *csr_arrays(none)[:2], node_of_label, 1)
    assert (nodes.tolist(), values.tolist()) == ([0], [1.0])


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_taking_rows_turning_and_sorting_agree_with_scipy(rows, columns, seed):
    random = np.random.default_rng(seed)
    matrix = sparse.random_array((rows, columns), density=0.4, rng=random, format="csr", dtype=np.float32)
    matrix.sort_indices()
    parts = csr_arrays(matrix)
    turned = transposed(*parts, columns)
    assert np.array_equal(
        sparse.csr_array((turned[2], turned[1], turned[0]), shape=(columns, rows)).toarray(),
        matrix.toarray().T,
    )
    chosen = random.permutation(rows)[: max(1, rows // 2)].astype(np.int32)
    features, *local = local_rows(*parts, chosen, columns)
    taken = sparse.csr_array((local[2], local[1], local[0]), shape=(len(chosen), len(features))).toarray()
    assert np.array_equal(taken, matrix.toarray()[chosen][:, features])
    assert set(features) == set(matrix[chosen].nonzero()[1])
    mine = local_targets(*turned, 0, columns, chosen, rows)
    dense = sparse.csr_array((mine[2], mine[1], mine[0]), shape=(columns, len(chosen))).toarray()
    assert np.array_equal(dense, matrix.toarray()[chosen].T)
    entries = matrix.tocoo()
    used, indptr, indices, data = by_feature(
        entries.col.astype(np.int32), entries.row.astype(np.int32), entries.data, columns
    )
    again = sparse.csr_array((data, indices, indptr), shape=(len(used), rows)).toarray()
    assert np.array_equal(again, matrix.toarray().T[used])


@pytest.mark.parametrize("few", [0, 10**9], ids=["searched", "by a table"])
@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_rows_of_a_node_are_found_by_search_as_by_a_table(few, rows, columns, seed):
    random = np.random.default_rng(seed)
    matrix = sparse.random_array((rows, columns), density=0.4, rng=random, format="csr", dtype=np.float32)
    matrix.sort_indices()
    parts, chosen = csr_arrays(matrix), np.flatnonzero(random.random(rows) < 0.6).astype(np.int32)
    turned = transposed(*parts, columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tailwright.kernels.csr.FEW", few)
        features, *local = local_rows(*parts, chosen, columns)
        mine = local_targets(*turned, 0, columns, chosen, rows)
    assert features.dtype == local[1].dtype == mine[1].dtype == np.int32
    assert features.tolist() == sorted(set(matrix[chosen].nonzero()[1].tolist()))
    taken = sparse.csr_array((local[2], local[1], local[0]), shape=(len(chosen), len(features))).toarray()
    assert np.array_equal(taken, matrix.toarray()[chosen][:, features])
    dense = sparse.csr_array((mine[2], mine[1], mine[0]), shape=(columns, len(chosen))).toarray()
    assert np.array_equal(dense, matrix.toarray()[chosen].T)
