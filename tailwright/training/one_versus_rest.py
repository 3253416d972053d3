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


@dataclass(frozen=True, eq=False)
class LevelRows:
    """What the classifiers of one level are solved from."""

    rows: TreeRows
    starts: np.ndarray  # (parents + 1,): where the children of each parent start
    targets: CsrArrays  # (nodes, rows): those of the level's nodes, negative where a pair is ignored
    weights: PairWeights
    reaching: CsrArrays  # (parents, rows): the targets of the level above; at the root's, no rows
    columns: CsrArrays  # (columns, rows): the features, for the root's children; no columns below

    @staticmethod
    def of(rows: TreeRows, tree: LabelTree, level: int) -> LevelRows:
        """Those of the nodes at `level`, which for the lowest level are labels."""
        targets, none = _targets_at(rows, tree, level), _no_pairs()
        weights = PairWeights.at(rows.targets, tree.node_of_label(level, rows.labels), tree.width(level))
        reaching = none if level == 0 else _targets_at(rows, tree, level - 1)
        columns = transposed(*rows.features, rows.columns) if level == 0 else none
        return LevelRows(rows, tree.starts[level], targets, weights, reaching, columns)

    def sizes(self) -> np.ndarray:
        """(parents,): the rows that reach each, those for which it is ignored included."""
        sizes: np.ndarray = np.diff(self.reaching[0])
        return sizes

    def reached(self, parent: int) -> np.ndarray:
        """The rows that reach a parent."""
        first, last = self.reaching[0][parent], self.reaching[0][parent + 1]
        reached: np.ndarray = self.reaching[1][first:last][self.reaching[2][first:last] > 0]
        return reached


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
    at = LevelRows.of(rows, tree, level)
    if level == 0:
        return [solve_root(at, range(tree.width(0)), solver, threads=threads, advance=advance)]
    parents = range(len(at.starts) - 1)
    return solve_below(at, parents, solver, threads=threads, advance=advance, before=before)


def solve_root(
    at: LevelRows, children: range, solver: Solver, *, threads: int, advance: Advance
) -> NodeWeights:
    """Some of the root's children, which keep their numbers among all."""

    def solve(first: int) -> tuple[np.ndarray, ...]:
        block = range(first, min(first + CHILDREN_A_BLOCK, children.stop))
        of_block = solver.solve(at.rows.features, at.columns, at.weights, at.targets, block)
        advance(len(block))
        # Copied, because the solver's arrays have room for all features, which would wait for the last block.
        return tuple(array.copy() for array in of_block)

    with ThreadPoolExecutor(threads) as pool:
        stop = max(children.stop, children.start + 1)  # no labels are a block of none
        blocks = pool.map(solve, range(children.start, stop, CHILDREN_A_BLOCK))
        features, classifiers, solved, biases = map(np.concatenate, zip(*blocks, strict=True))
    used, indptr, indices, data = by_feature(features, classifiers, solved, at.rows.columns)
    return NodeWeights(used, (indptr, indices, data), biases)


def solve_below(
    at: LevelRows,
    parents: range,
    solver: Solver,
    *,
    threads: int,
    advance: Advance,
    before: SolvedNodes | None = None,
) -> list[NodeWeights]:
    """The children of some parents, the largest first; see `solve_level`."""
    starts = at.starts.tolist()

    def solve(node: int) -> NodeWeights:
        reached, children = at.reached(node), range(starts[node], starts[node + 1])
        if before is not None and not before.is_new[reached].any():
            solved = before.nodes[node]
        else:
            solved = _solve_node(at.rows, at.targets, at.weights, reached, children, solver)
        advance(len(children))
        return solved

    order = np.argsort(-at.sizes()[parents.start : parents.stop], kind="stable")
    largest_first = (order + parents.start).tolist()
    with ThreadPoolExecutor(threads) as pool:
        solved = dict(zip(largest_first, pool.map(solve, largest_first), strict=True))
    return [solved[node] for node in parents]


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


def _no_pairs() -> CsrArrays:
    return np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)


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
