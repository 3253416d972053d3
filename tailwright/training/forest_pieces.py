"""A forest grown by an executor: its label trees are pieces of work, and then the shards of all trees are.

The shards of all trees are handed over together, tree after tree, so that no worker waits for the end of a
tree. What is done is kept in a folder at once, where there is one; a resumed fit goes on with the rest.

| in the folder of a tree | holds |
|---|---|
| `label-tree/` | the clusters of labels |
| `level-L-FIRST-LAST/` | the weights of one shard |
"""

from __future__ import annotations

import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import numba
import numpy as np
from scipy import sparse

from tailwright.labels.shared import shared_tree
from tailwright.labels.tree import LabelTree, TreeShape
from tailwright.progress import Advance, progress
from tailwright.store import FolderReader, FolderWriter, open_folder, writing
from tailwright.training.executor import Executor
from tailwright.training.forest import Forest
from tailwright.training.forest_rows import ForestRows
from tailwright.training.memory import give_back
from tailwright.training.one_versus_rest import LevelRows, Solver, solve_below, solve_root
from tailwright.training.tree_shards import SolvedShard, TreeShard, level_of_shards, shards_of
from tailwright.training.workplace import Workplace

S = TypeVar("S")
P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class LabelsToCluster:
    """What label trees are made of."""

    vectors: sparse.csr_array  # (labels, columns)
    labels: np.ndarray  # their ids
    shape: TreeShape
    seed: int


def grown_label_tree(given: LabelsToCluster, number: int) -> LabelTree:
    """The tree of that number."""
    threads = numba.get_num_threads()
    tree = shared_tree(given.vectors, given.labels, given.shape, seed=given.seed + number, threads=threads)
    give_back()  # centroids, above all those of the root
    return tree


@dataclass(frozen=True, eq=False)
class TreesToSolve:
    """Label trees, and the rows that their classifiers learn from."""

    trees: Mapping[int, LabelTree]
    rows: ForestRows
    key: str = field(default_factory=lambda: secrets.token_hex(16))  # no other fit has it

    def shards(self) -> list[TreeShard]:
        """Those of all trees, tree after tree."""
        counts = self.rows.targets.counts()
        return [shard for number, tree in self.trees.items() for shard in shards_of(number, tree, counts)]


@dataclass(frozen=True)
class PieceMemory:
    """What one piece is forecast to take, in MB."""

    label_tree: float
    shard: float


@dataclass(frozen=True)
class Keeping(Generic[P, R]):
    """Where the results of pieces are kept, and how; nothing is kept where there is no place."""

    place: Callable[[P], Path | None]
    kind: str
    save: Callable[[R, FolderWriter], None]
    load: Callable[[FolderReader], R]
    resume: bool  # whether those that are there are taken

    def has(self, piece: P) -> bool:
        """Whether an earlier fit kept the result."""
        place = self.place(piece)
        return self.resume and place is not None and place.exists()

    def known(self, piece: P) -> R:
        """What an earlier fit kept."""
        place = self.place(piece)
        assert place is not None
        return self.load(open_folder(place, kind=self.kind))

    def keep(self, piece: P, result: R) -> None:
        """Write a result."""
        place = self.place(piece)
        if place is not None:
            with writing(place, kind=self.kind, overwrite=True) as folder:
                self.save(result, folder)

    def forget(self, piece: P) -> None:
        """Remove what is kept of a piece."""
        place = self.place(piece)
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)


def results_of(
    executor: Executor,
    task: Callable[[S, P], R],
    shared: S,
    pieces: Sequence[P],
    keeping: Keeping[P, R],
    *,
    memory_mb: float,
) -> Iterator[tuple[P, R]]:
    """Every piece with its result: those that are known first, then the others as they are done."""
    missing = []
    for piece in pieces:
        if keeping.has(piece):
            yield piece, keeping.known(piece)
        else:
            missing.append(piece)
    if not missing:
        return
    for number, result in executor.run(task, shared, missing, memory_mb=memory_mb):
        keeping.keep(missing[number], result)
        yield missing[number], result


def forests_by_pieces(
    executor: Executor,
    to_cluster: LabelsToCluster,
    rows: ForestRows,
    folders: Mapping[int, Path | None],
    work: Workplace,
    memory: PieceMemory,
) -> Iterator[tuple[int, Forest]]:
    """The trees of these numbers, each as soon as the last of its shards is done.

    Who asks for the next one has kept this one: its pieces are removed then.
    """
    of_trees = Keeping[int, LabelTree](
        lambda number: _inside(folders[number], "label-tree"),
        "label-tree",
        LabelTree.save,
        lambda folder: LabelTree.load(folder, to_cluster.labels),
        work.resume,
    )
    with work.phase("label trees", trees=len(folders)):
        found = dict(
            results_of(
                executor, grown_label_tree, to_cluster, list(folders), of_trees, memory_mb=memory.label_tree
            )
        )
    given = TreesToSolve({number: found[number] for number in folders}, rows)
    of_shards = Keeping[TreeShard, SolvedShard](
        lambda shard: _inside(folders[shard.tree], shard.name),
        "shard",
        SolvedShard.save,
        SolvedShard.load,
        work.resume,
    )
    shards = given.shards()
    total = sum(tree.width(level) for tree in found.values() for level in range(tree.depth))
    facts = {"trees": len(folders), "shards": len(shards), "kept": sum(map(of_shards.has, shards))}
    with work.phase("trees", **facts), progress("trees", total, "classifiers") as advance:
        for number, forest in _grown(executor, given, shards, of_shards, memory.shard, advance):
            work.log("tree", number=number)
            yield number, forest
            del forest
            of_trees.forget(number)
            for shard in shards:
                if shard.tree == number:
                    of_shards.forget(shard)


def _grown(
    executor: Executor,
    given: TreesToSolve,
    shards: Sequence[TreeShard],
    keeping: Keeping[TreeShard, SolvedShard],
    memory_mb: float,
    advance: Advance,
) -> Iterator[tuple[int, Forest]]:
    solved: dict[TreeShard, SolvedShard] = {}
    left = Counter(shard.tree for shard in shards)
    columns, labels = given.rows.matrix.shape[1], given.rows.targets.labels
    for done, result in results_of(executor, solve_shard, given, shards, keeping, memory_mb=memory_mb):
        solved[done] = result
        advance(int(result.children.sum()))
        left[done.tree] -= 1
        if left[done.tree]:
            continue
        tree, of_tree = given.trees[done.tree], sorted(shard for shard in solved if shard.tree == done.tree)
        levels = [
            level_of_shards(level, [solved.pop(shard) for shard in of_tree if shard.level == level])
            for level in range(tree.depth)
        ]
        yield done.tree, Forest.grown(tree, levels, labels, columns)


def _inside(folder: Path | None, name: str) -> Path | None:
    return None if folder is None else folder / name


@dataclass(frozen=True, eq=False)
class _Level:
    """The rows of a level, and whose they are."""

    key: str
    tree: int
    level: int
    rows: LevelRows
    solver: Solver


class _Last:
    """The level that this process has solved a shard of last: the next one is likely to be of the same."""

    level: _Level | None = None


def solve_shard(given: TreesToSolve, shard: TreeShard) -> SolvedShard:
    """The weights of one shard."""
    at, threads = _level_of(given, shard), numba.get_num_threads()
    if shard.level == 0:
        children = range(shard.first, shard.last)
        nodes = [solve_root(at.rows, children, at.solver, threads=threads, advance=_nothing)]
    else:
        parents = range(shard.first, shard.last)
        nodes = solve_below(at.rows, parents, at.solver, threads=threads, advance=_nothing)
    return SolvedShard.of(nodes)


def _level_of(given: TreesToSolve, shard: TreeShard) -> _Level:
    last, _Last.level = _Last.level, None
    if last is None or (last.key, last.tree) != (given.key, shard.tree):
        last = None  # before its successor is made: one of them fits into memory
        _, rows, solver = given.rows.of_tree(shard.tree)
    elif last.level == shard.level:
        _Last.level = last
        return last
    else:
        rows, solver, last = last.rows.rows, last.solver, None
    level = LevelRows.of(rows, given.trees[shard.tree], shard.level)
    _Last.level = _Level(given.key, shard.tree, shard.level, level, solver)
    return _Last.level


def _nothing(n: int) -> None:
    """Progress is shown where the shards are handed out."""
