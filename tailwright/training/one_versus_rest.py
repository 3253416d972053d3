"""Training a label tree: at each node, its children one-versus-rest on the rows that reach it.

A row reaches a node if it has a positive below it. Children have the targets of groups of labels
(`BatchTargets.of_groups` has the rule); the children of the lowest nodes are labels, with their own targets.

Nodes are solved in threads, the largest first; the root's children in blocks.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from tailwright.data.batch_targets import BatchTargets, group_weights
from tailwright.data.pairs import CsrArrays
from tailwright.kernels.csr import by_feature, group_targets, local_rows, local_targets, transposed
from tailwright.kernels.linear import solve_classifiers
from tailwright.labels.tree import LabelTree
from tailwright.progress import Advance

CHILDREN_A_BLOCK = 4
SURE = np.float32(30)  # a margin that any loss takes for certain


@dataclass(frozen=True, eq=False)
class PairWeights:
    """The factors on the loss of rows and children; `made` and `children` are empty without label weights."""

    rows: np.ndarray  # (rows,) float32
    made: np.ndarray  # (rows,) float32: 1 if a row is made, 0 if not
    children: np.ndarray  # (children,) float32: the mean label weight of each, for made rows

    @staticmethod
    def at(targets: BatchTargets, node_of: np.ndarray, nodes: int) -> PairWeights:
        """Those of the nodes of a level; `node_of` (labels,) is each label's node, -1 for none."""
        weights, none = group_weights(targets.label_weights, node_of, nodes), np.empty(0, np.float32)
        if weights is None or targets.made is None:
            return PairWeights(targets.weights, none, none)
        return PairWeights(targets.weights, targets.made, weights)

    def of_node(self, reached: np.ndarray, children: range) -> PairWeights:
        """Those of some rows and children alone."""
        if not len(self.children):
            return replace(self, rows=self.rows[reached])
        own = slice(children.start, children.stop)
        return PairWeights(self.rows[reached], self.made[reached], self.children[own])


@dataclass(frozen=True)
class Solver:
    """How one classifier is solved: see `tailwright.kernels.linear`."""

    loss: int
    cost: float
    tolerance: float
    prune: float
    seed: int

    def solve(
        self,
        rows: CsrArrays,
        columns: CsrArrays,
        weights: PairWeights,
        targets: CsrArrays,
        children: range,
    ) -> tuple[np.ndarray, ...]:
        """(features, classifiers, weights) of what is kept, and biases; `columns` is `rows` transposed."""
        costs, first, last = weights.rows * np.float32(self.cost), children.start, children.stop
        loss, tolerance, prune, seed = self.loss, self.tolerance, self.prune, self.seed
        factors = weights.made, weights.children
        return solve_classifiers(
            *rows, *columns, costs, *factors, *targets, first, last, loss, tolerance, prune, seed
        )


@dataclass(frozen=True, eq=False)
class TreeRows:
    """What a tree is trained on: rows of weights above 0, in random order."""

    features: CsrArrays  # (rows, columns)
    columns: int
    targets: BatchTargets
    labels: int


@dataclass(frozen=True, eq=False)
class NodeWeights:
    """The pruned classifiers of one node's children, by feature."""

    features: np.ndarray  # (pairs,) int32, ascending
    weights: CsrArrays  # CSR (pairs, children)
    biases: np.ndarray  # (children,) float32

    def with_features_at(self, places: np.ndarray) -> NodeWeights:
        """The same with each feature at its place among others; `places` (features,) ascend."""
        return replace(self, features=places[self.features].astype(np.int32))


@dataclass(frozen=True, eq=False)
class SolvedNodes:
    """The nodes of a level as they were before the new rows came, by parent."""

    nodes: list[NodeWeights]
    is_new: np.ndarray  # (rows,) bool


def solve_level(
    rows: TreeRows,
    tree: LabelTree,
    level: int,
    solver: Solver,
    *,
    threads: int,
    advance: Advance,
    before: SolvedNodes | None = None,
) -> list[NodeWeights]:
    """The classifiers of the nodes at `level`, which for the lowest level are labels, by parent.

    A node that no new row reaches would be solved as it was `before`, and is taken from there.
    """
    targets, starts = _targets_at(rows, tree, level), tree.starts[level].tolist()
    weights = PairWeights.at(rows.targets, tree.node_of_label(level, rows.labels), tree.width(level))
    with ThreadPoolExecutor(threads) as pool:
        if level == 0:
            return [_solve_root(rows, targets, weights, tree.width(0), solver, pool, advance)]
        reaching = _targets_at(rows, tree, level - 1)

        def solve(node: int) -> NodeWeights:
            first, last = reaching[0][node], reaching[0][node + 1]
            reached = reaching[1][first:last][reaching[2][first:last] > 0]
            children = range(starts[node], starts[node + 1])
            if before is not None and not before.is_new[reached].any():
                solved = before.nodes[node]
            else:
                solved = _solve_node(rows, targets, weights, reached, children, solver)
            advance(len(children))
            return solved

        largest_first = np.argsort(-np.diff(reaching[0]), kind="stable")
        solved = dict(zip(largest_first.tolist(), pool.map(solve, largest_first.tolist()), strict=True))
        return [solved[node] for node in range(len(starts) - 1)]


def _targets_at(rows: TreeRows, tree: LabelTree, level: int) -> CsrArrays:
    """(nodes, rows) CSR: the targets of the nodes of a level, negative where a pair is ignored."""
    given, nodes = rows.targets, tree.width(level)
    by_row = group_targets(
        given.starts,
        given.labels,
        given.values,
        given.ignored_starts,
        given.ignored,
        tree.node_of_label(level, rows.labels),
        nodes,
    )
    return transposed(*by_row, nodes)


def _solve_root(
    rows: TreeRows,
    targets: CsrArrays,
    weights: PairWeights,
    children: int,
    solver: Solver,
    pool: ThreadPoolExecutor,
    advance: Advance,
) -> NodeWeights:
    columns = transposed(*rows.features, rows.columns)

    def solve(first: int) -> tuple[np.ndarray, ...]:
        block = range(first, min(first + CHILDREN_A_BLOCK, children))
        of_block = solver.solve(rows.features, columns, weights, targets, block)
        advance(len(block))
        # Copied, because the solver's arrays have room for all features, which would wait for the last block.
        return tuple(array.copy() for array in of_block)

    blocks = pool.map(solve, range(0, max(children, 1), CHILDREN_A_BLOCK))
    features, classifiers, solved, biases = map(np.concatenate, zip(*blocks, strict=True))
    used, indptr, indices, data = by_feature(features, classifiers, solved, rows.columns)
    return NodeWeights(used, (indptr, indices, data), biases)


def _solve_node(
    rows: TreeRows,
    targets: CsrArrays,
    weights: PairWeights,
    reached: np.ndarray,
    children: range,
    solver: Solver,
) -> NodeWeights:
    """The children on the rows that reach the node, with features renumbered for locality."""
    if len(children) == 1:  # whatever reaches the node belongs to its only child
        none = np.empty(0, np.int32)
        return NodeWeights(none, (np.zeros(1, np.int64), none, np.empty(0, np.float32)), np.full(1, SURE))
    features, indptr, indices, data = local_rows(*rows.features, reached, rows.columns)
    local = (indptr, indices, data)
    columns = transposed(*local, len(features))
    of_node = local_targets(*targets, children.start, children.stop, reached, len(weights.rows))
    own = replace(solver, seed=solver.seed + children.start)
    weighted, classifiers, solved, biases = own.solve(
        local, columns, weights.of_node(reached, children), of_node, range(len(children))
    )
    used, indptr, indices, data = by_feature(weighted, classifiers, solved, len(features))
    return NodeWeights(features[used], (indptr, indices, data), biases)
