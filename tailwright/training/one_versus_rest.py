"""Training a label tree: at each node, its children one-versus-rest on the rows that reach it.

A row reaches a node if it has a positive below it. The target of a child for a row is the largest target of
the labels below; a pair (row, child) gives no loss where nothing below but ignored pairs is there. Labels
themselves are the children of the lowest nodes, where this is the plain target and the plain ignored pair.

Nodes are solved in threads, each on its own, the largest first; the root's children in blocks.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tailwright.data.pairs import CsrParts, csr_parts
from tailwright.kernels.csr import transposed
from tailwright.kernels.group_targets import group_targets
from tailwright.kernels.linear import solve_classifiers
from tailwright.kernels.node_rows import by_feature, local_rows, local_targets
from tailwright.labels.tree import LabelTree
from tailwright.progress import Advance

CHILDREN_A_BLOCK = 4
SURE = np.float32(30)  # a margin that any loss takes for certain


@dataclass(frozen=True)
class Solver:
    """How one classifier is solved: see `tailwright.kernels.linear`."""

    loss: int
    cost: float
    tolerance: float
    prune: float


@dataclass(frozen=True, eq=False)
class Rows:
    """What a tree is trained on: rows of weights above 0, in the order they are drawn in."""

    features: CsrParts  # (rows, columns)
    columns: int
    targets: sparse.csr_array  # (rows, labels)
    ignored: sparse.csr_array  # (rows, labels)
    weights: np.ndarray  # (rows,) float32


@dataclass(frozen=True, eq=False)
class NodeWeights:
    """The pruned classifiers of one node's children, by feature."""

    features: np.ndarray  # (pairs,) int32, ascending
    weights: CsrParts  # CSR (pairs, children)
    biases: np.ndarray  # (children,) float32


def solve_level(
    rows: Rows, tree: LabelTree, level: int, solver: Solver, *, seed: int, threads: int, advance: Advance
) -> list[NodeWeights]:
    """The classifiers of the nodes (of all children, for a lowest level: labels) at `level`, by parent."""
    labels = rows.targets.shape[1]
    costs = rows.weights * np.float32(solver.cost)
    below = _targets_at(rows, tree.node_of_label(level, labels), tree.width(level))
    starts = tree.starts[level]
    pool = ThreadPoolExecutor(threads)
    with pool:
        if level == 0:
            return [_solve_root(rows, costs, below, tree.width(0), solver, seed, pool, advance)]
        reaching = _targets_at(rows, tree.node_of_label(level - 1, labels), tree.width(level - 1))

        def solve(node: int) -> NodeWeights:
            first, last = reaching[0][node], reaching[0][node + 1]
            chosen = reaching[1][first:last][reaching[2][first:last] > 0]
            found = _solve_node(
                rows, costs, below, chosen, int(starts[node]), int(starts[node + 1]), solver, seed
            )
            advance(int(starts[node + 1] - starts[node]))
            return found

        largest_first = np.argsort(-np.diff(reaching[0]), kind="stable")
        solved = dict(zip(largest_first.tolist(), pool.map(solve, largest_first.tolist()), strict=True))
        return [solved[node] for node in range(len(starts) - 1)]


def _targets_at(rows: Rows, node_of_label: np.ndarray, nodes: int) -> CsrParts:
    """(nodes, rows) CSR: the targets of the nodes of a level."""
    by_row = group_targets(*csr_parts(rows.targets), *csr_parts(rows.ignored)[:2], node_of_label, nodes)
    return transposed(*by_row, nodes)


def _solve_root(
    rows: Rows,
    costs: np.ndarray,
    targets: CsrParts,
    children: int,
    solver: Solver,
    seed: int,
    pool: ThreadPoolExecutor,
    advance: Advance,
) -> NodeWeights:
    columns = transposed(*rows.features, rows.columns)

    def solve(first: int) -> tuple[np.ndarray, ...]:
        last = min(first + CHILDREN_A_BLOCK, children)
        found = _solve(rows.features, columns, costs, targets, first, last, solver, seed)
        advance(last - first)
        return found

    solved = list(pool.map(solve, range(0, max(children, 1), CHILDREN_A_BLOCK)))
    features, classifiers, weights, biases = (np.concatenate([part[i] for part in solved]) for i in range(4))
    used, indptr, indices, data = by_feature(features, classifiers, weights, rows.columns)
    return NodeWeights(used, (indptr, indices, data), biases)


def _solve_node(
    rows: Rows,
    costs: np.ndarray,
    targets: CsrParts,
    chosen: np.ndarray,
    first: int,
    last: int,
    solver: Solver,
    seed: int,
) -> NodeWeights:
    """The children first..last - 1 on the rows `chosen`, whose features are numbered anew for locality."""
    if last - first == 1:  # whatever reaches the node belongs to its only child
        none = np.empty(0, np.int32)
        return NodeWeights(none, (np.zeros(1, np.int64), none, np.empty(0, np.float32)), np.full(1, SURE))
    features, indptr, indices, data = local_rows(*rows.features, chosen, rows.columns)
    local = (indptr, indices, data)
    columns = transposed(*local, len(features))
    mine = local_targets(*targets, first, last, chosen, len(costs))
    found, classifiers, weights, biases = _solve(
        local, columns, costs[chosen], mine, 0, last - first, solver, seed + first
    )
    used, *by_used = by_feature(found, classifiers, weights, len(features))
    return NodeWeights(features[used], (by_used[0], by_used[1], by_used[2]), biases)


def _solve(
    features: CsrParts,
    columns: CsrParts,
    costs: np.ndarray,
    targets: CsrParts,
    first: int,
    last: int,
    solver: Solver,
    seed: int,
) -> tuple[np.ndarray, ...]:
    return solve_classifiers(
        *features,
        *columns,
        costs,
        *targets,
        first,
        last,
        solver.loss,
        solver.tolerance,
        solver.prune,
        seed,
    )
