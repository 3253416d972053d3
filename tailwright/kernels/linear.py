"""One-versus-rest linear classifiers by dual coordinate descent over a growing set of rows.

A classifier w (with a bias, the weight of a feature that is 1 everywhere) minimises

    |w|² / 2 + Σ cost_i loss(w·x_i, t_i)

    squared hinge: t (1 - m)₊² + (1 - t) (1 + m)₊²        logistic: t ln(1 + e^-m) + (1 - t) ln(1 + e^m)

with t the soft target of row i: a soft row is a positive of weight t and a negative of weight 1 - t. At the
optimum w = Σ b_i x_i with b_i = -cost_i loss'(m_i). A step on one row finds the b_i that satisfies this while
the others are fixed: in closed form for the squared hinge, by Newton's method on the margin for the logistic
loss.

For a rare label, nearly all rows lie beyond the margin. So under the squared hinge, descent runs over a
working set: at first the labelled rows and a few others; then the margins of all rows are computed from the
columns of the features that have a weight, and rows that violate the margin join, until none does. Under the
logistic loss every row has a gradient, so all rows are in the working set from the start.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tailwright.kernels.compiling import HELPER, helper
from tailwright.kernels.word_tables import with_room

SQUARED_HINGE, LOGISTIC = 0, 1

FEWEST = 32  # the fewest rows without the label that a working set starts with
GROWTH = 64  # rows that may join it in one round; or as many as it has, if that is more
ROUNDS = 8
SWEEPS = 10  # per round
# With so many rows or more, a sweep visits them in runs of rows that lie side by side. On 768,000 rows it
# makes 1.2 times as many visits, each of which takes 0.4 times as long.
MANY, RUN = 100_000, 8
# Shares of the tolerance below which a step is skipped, and a weight is ignored in the margins of all rows.
SMALLEST = 0.1
NEGLIGIBLE = 0.1
# A linear congruential generator modulo 2**64, with a stream per classifier, orders the rows of a sweep.
MULTIPLIER, INCREMENT = np.uint64(6364136223846793005), np.uint64(1442695040888963407)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@helper
def hinge_step(
    margin: np.float32, b: np.float32, square: np.float32, cost: np.float32, target: np.float32
) -> np.float32:
    """The dual value of a row under the squared hinge, all others fixed.

    `margin` includes the row's own contribution, b x `square`. The new margin z solves
    z = margin - b square + square x 2 cost (t (1 - z)₊ - (1 - t) (1 + z)₊), linear on either side of ±1.
    """
    rest = margin - b * square
    q = np.float32(2) * cost * square
    negative = np.float32(1) - target
    if rest < -np.float32(1) - np.float32(2) * q * target:
        negative = np.float32(0)  # z < -1: only the positive term has a gradient
    elif rest > np.float32(1) + np.float32(2) * q * negative:
        target = np.float32(0)  # z > 1: only the negative term has a gradient
    z = (rest + q * (target - negative)) / (np.float32(1) + q * (target + negative))
    return np.float32(2) * cost * (target * (np.float32(1) - z) - negative * (np.float32(1) + z))


@helper
def logistic_step(
    margin: np.float32, b: np.float32, square: np.float32, cost: np.float32, target: np.float32
) -> np.float32:
    """The dual value of a row under the logistic loss: z = rest + square cost (t - sigmoid(z)) by Newton.

    From 0, where the sigmoid bends, every step stays between 0 and the root; from elsewhere Newton may go to
    and fro for ever.
    """
    rest = margin - b * square
    scale = square * cost
    z = np.float32(0)
    for _ in range(10):
        p = np.float32(1) / (np.float32(1) + np.exp(-z))
        residual = z - rest - scale * (target - p)
        step = residual / (np.float32(1) + scale * p * (np.float32(1) - p))
        z -= step
        if abs(step) < np.float32(1e-5):
            break
    return cost * (target - np.float32(1) / (np.float32(1) + np.exp(-z)))


@njit(**HELPER, fastmath={"contract"})
def descend(
    x_indptr: np.ndarray,
    x_indices: np.ndarray,
    x_data: np.ndarray,
    squares: np.ndarray,
    costs: np.ndarray,
    targets: np.ndarray,
    dual: np.ndarray,
    w: np.ndarray,
    bias: np.float32,
    runs: np.ndarray,
    length: int,
    loss: int,
    tolerance: float,
    state: np.uint64,
) -> tuple[np.float32, np.float32, np.uint64]:
    """Sweep over the rows until no step is above the tolerance; changes dual, w and the order of the runs.

    Rows are visited in runs of `length`: run r begins at row r x `length`. Runs come in random order, and
    each begins at a random one of its rows. Returns (bias, the largest step of the last sweep in units of
    margin, state of the generator).
    """
    worst, rows = np.float32(0), len(x_indptr) - 1
    for _ in range(SWEEPS):
        worst = np.float32(0)
        for a in range(len(runs)):
            # A Fisher-Yates shuffle: sweeps in a fixed order converge ten times more slowly.
            state = state * MULTIPLIER + INCREMENT
            other = a + np.int64((state >> np.uint64(33)) % np.uint64(len(runs) - a))
            run = runs[other]
            runs[other] = runs[a]
            runs[a] = run
            begin = run * length
            held = min(length, rows - begin)
            turn = np.int64((state >> np.uint64(20)) % np.uint64(held))
            for _ in range(held):
                row = begin + turn
                turn += 1
                if turn == held:
                    turn = np.int64(0)
                margin = bias
                for p in range(x_indptr[row], x_indptr[row + 1]):
                    margin += x_data[p] * w[x_indices[p]]
                if loss == SQUARED_HINGE:
                    new = hinge_step(margin, dual[row], squares[row], costs[row], targets[row])
                else:
                    new = logistic_step(margin, dual[row], squares[row], costs[row], targets[row])
                change = new - dual[row]
                size = abs(change) * (squares[row] + np.float32(0.5) / costs[row])
                worst = max(worst, size)
                if size > SMALLEST * tolerance:
                    dual[row] = new
                    bias += change
                    for p in range(x_indptr[row], x_indptr[row + 1]):
                        w[x_indices[p]] += change * x_data[p]
        if worst < tolerance:
            break
    return bias, worst, state


@njit(**HELPER, fastmath={"contract"})
def join(
    c_indptr: np.ndarray,
    c_indices: np.ndarray,
    c_data: np.ndarray,
    w: np.ndarray,
    bias: np.float32,
    touched: np.ndarray,
    margins: np.ndarray,
    costs: np.ndarray,
    targets: np.ndarray,
    is_active: np.ndarray,
    active: np.ndarray,
    count: int,
    tolerance: float,
) -> int:
    """Let rows without the label that violate the margin join the `count` active ones, the worst first.

    `margins` (rows,) is filled from the columns c of the features in `touched` that have a weight.
    """
    for row in range(len(margins)):
        margins[row] = bias
    for feature in touched:
        weight = w[feature]
        if abs(weight) > NEGLIGIBLE * tolerance:
            for p in range(c_indptr[feature], c_indptr[feature + 1]):
                margins[c_indices[p]] += weight * c_data[p]
    rows = len(margins)
    room = count + max(GROWTH, count)
    limit, step = np.float32(-1) + np.float32(tolerance), np.float32(0.25)
    for _ in range(100):
        above = 0
        for row in range(rows):
            if margins[row] > limit + step:
                above += 1
        if above < room:
            break
        limit += step
    for row in range(rows):
        if margins[row] > limit and not is_active[row] and targets[row] == 0 and costs[row] > 0:
            is_active[row] = True
            active[count] = row
            count += 1
            if count == room:
                break
    return count


def solve_classifiers(
    x_indptr: np.ndarray,
    x_indices: np.ndarray,
    x_data: np.ndarray,
    c_indptr: np.ndarray,
    c_indices: np.ndarray,
    c_data: np.ndarray,
    costs: np.ndarray,
    made: np.ndarray,
    factors: np.ndarray,
    t_indptr: np.ndarray,
    t_indices: np.ndarray,
    t_data: np.ndarray,
    first: int,
    last: int,
    loss: int,
    tolerance: float,
    prune: float,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Classifiers first..last - 1 over the same rows, each started from zero.

    x: (rows, features) CSR; c: its transpose; costs: (rows,), 0 for a row without loss; t: (classifiers,
    rows) CSR of targets, negative for a pair without loss. Where `made` (rows,) is 1, the cost of a row is
    multiplied by the one of `factors` (classifiers,) that is the classifier's; both may be empty. Returns
    (features, classifiers, weights) of all weights of at least `prune` in magnitude, by classifier, and
    biases (last - first,).
    """
    rows, features = len(x_indptr) - 1, len(c_indptr) - 1
    biases = np.zeros(last - first, dtype=np.float32)
    counts = np.zeros(last - first, dtype=np.int64)  # weights of each classifier
    arguments: tuple[Any, ...] = (
        *(x_indptr, x_indices, x_data, c_indptr, c_indices, c_data, costs, made, factors),
        *(t_indptr, t_indices, t_data, first, last, loss, tolerance, prune, seed, biases, counts),
        *(np.ones(rows, dtype=np.float32), costs.copy(), *np.zeros((3, rows), dtype=np.float32)),
        *(np.zeros(rows, dtype=np.bool_), np.empty(rows, dtype=np.int32)),
        *(np.zeros(features, dtype=np.float32), np.zeros(features, dtype=np.bool_)),
        np.empty(features, dtype=np.int32),
    )
    found, weights = _solve_classifiers(*arguments)
    classifiers = np.repeat(np.arange(first, last, dtype=np.int32), counts)
    return found, classifiers, weights, biases


@njit(cache=True, nogil=True)
def _solve_classifiers(
    x_indptr: np.ndarray,
    x_indices: np.ndarray,
    x_data: np.ndarray,
    c_indptr: np.ndarray,
    c_indices: np.ndarray,
    c_data: np.ndarray,
    costs: np.ndarray,
    made: np.ndarray,
    factors: np.ndarray,
    t_indptr: np.ndarray,
    t_indices: np.ndarray,
    t_data: np.ndarray,
    first: int,
    last: int,
    loss: int,
    tolerance: float,
    prune: float,
    seed: int,
    biases: np.ndarray,
    counts: np.ndarray,
    squares: np.ndarray,  # (rows,) ones: becomes the square of each row's length, with its bias
    own: np.ndarray,  # (rows,): the costs of the classifier's rows
    targets: np.ndarray,  # (rows,) zeros
    dual: np.ndarray,  # (rows,) zeros
    margins: np.ndarray,  # (rows,)
    is_active: np.ndarray,  # (rows,) false
    active: np.ndarray,  # (rows,)
    w: np.ndarray,  # (features,) zeros
    is_touched: np.ndarray,  # (features,) false
    touched: np.ndarray,  # (features,)
) -> tuple[np.ndarray, np.ndarray]:
    rows = len(squares)
    for row in range(rows):
        for p in range(x_indptr[row], x_indptr[row + 1]):
            squares[row] += x_data[p] * x_data[p]
    out_features = np.empty(1024, dtype=np.int32)
    out_weights = np.empty(1024, dtype=np.float32)
    # The active rows side by side: a sweep over rows that are far apart waits for memory.
    runs = np.empty(rows, dtype=np.int32)
    length = RUN if rows >= MANY else 1
    near_squares = np.empty(rows, dtype=np.float32)
    near_costs = np.empty(rows, dtype=np.float32)
    near_targets = np.empty(rows, dtype=np.float32)
    near_indptr = np.zeros(rows + 1, dtype=np.int64)
    near_indices = np.empty(1024, dtype=np.int32)
    near_data = np.empty(1024, dtype=np.float32)
    filled = np.int64(0)
    for classifier in range(first, last):
        state = np.uint64(seed) ^ (np.uint64(classifier + 1) * GOLDEN)
        if len(factors):
            for row in range(rows):
                factor = np.float32(1) - made[row] + made[row] * factors[classifier]
                own[row] = costs[row] * factor
        count = 0
        for p in range(t_indptr[classifier], t_indptr[classifier + 1]):
            row = t_indices[p]
            targets[row] = t_data[p]
            if t_data[p] > 0 and own[row] > 0:
                is_active[row] = True
                active[count] = row
                count += 1
        labelled = count
        # A few rows represent the rest, so that the bias is about right before others are looked for.
        row, wanted = 0, rows if loss == LOGISTIC else min(rows, max(FEWEST, 2 * labelled) + labelled)
        while count < wanted and row < rows:
            if not is_active[row] and targets[row] == 0 and own[row] > 0:
                is_active[row] = True
                active[count] = row
                count += 1
            row += 1
        bias = np.float32(0)
        touches = 0
        seen = 0
        for _ in range(ROUNDS):
            if length > 1:  # a run is to have rows of all kinds
                for a in range(seen, count):
                    state = state * MULTIPLIER + INCREMENT
                    other = a + np.int64((state >> np.uint64(33)) % np.uint64(count - a))
                    row = active[other]
                    active[other] = active[a]
                    active[a] = row
            for a in range(seen, count):
                row, at = active[a], near_indptr[a]
                end = at + x_indptr[row + 1] - x_indptr[row]
                near_indices = with_room(near_indices, at, end)
                near_data = with_room(near_data, at, end)
                for p in range(x_indptr[row], x_indptr[row + 1]):
                    feature = x_indices[p]
                    near_indices[at], near_data[at] = feature, x_data[p]
                    at += 1
                    if not is_touched[feature]:
                        is_touched[feature] = True
                        touched[touches] = feature
                        touches += 1
                near_squares[a], near_costs[a], near_targets[a] = squares[row], own[row], targets[row]
                near_indptr[a + 1] = end
            for run in range(-(-seen // length), -(-count // length)):
                runs[run] = run
            seen = count
            bias, worst, state = descend(
                near_indptr[: count + 1],
                near_indices,
                near_data,
                near_squares,
                near_costs,
                near_targets,
                dual,
                w,
                bias,
                runs[: -(-count // length)],
                length,
                loss,
                tolerance,
                state,
            )
            if count < rows and loss == SQUARED_HINGE:
                count = join(
                    *(c_indptr, c_indices, c_data, w, bias, touched[:touches], margins),
                    *(own, targets, is_active, active, count, tolerance),
                )
            if count == seen and worst < tolerance:
                break
        biases[classifier - first] = bias
        out_features = with_room(out_features, filled, filled + touches)
        out_weights = with_room(out_weights, filled, filled + touches)
        for i in range(touches):
            feature = touched[i]
            weight = w[feature]
            if abs(weight) >= prune:
                out_features[filled] = feature
                out_weights[filled] = weight
                filled += 1
                counts[classifier - first] += 1
            w[feature] = 0
            is_touched[feature] = False
        for a in range(count):
            is_active[active[a]] = False
            dual[a] = 0
        for p in range(t_indptr[classifier], t_indptr[classifier + 1]):
            targets[t_indices[p]] = 0
    return out_features[:filled], out_weights[:filled]
