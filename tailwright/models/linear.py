"""Linear: TF-IDF and one-versus-rest linear classifiers over a few shallow, wide label trees.

Follows Bonsai (Khandagale et al. 2020) in its shallow trees over labels represented by their rows, and the
dual coordinate descent of Hsieh et al. 2008 in its solver; soft targets, row weights and ignored pairs enter
the loss as they are. Trees differ in the seed of their clusters, and their scores are averaged.

Where labels have texts, these count in the clusters beside the labels' rows (docs/results/short-text.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numba
import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.batch_targets import TargetRows
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset, text_buffers
from tailwright.data.text.sharded_tfidf import fit_transform_in_shards
from tailwright.data.text.tfidf import TfIdf, csr_of_rows
from tailwright.evaluation.ranking import TopK
from tailwright.kernels.linear import LOGISTIC, SQUARED_HINGE
from tailwright.kernels.room import Pile
from tailwright.labels.tree import LabelTree, TreeShape, with_more_labels
from tailwright.labels.vectors import pifa, pifa_in_blocks, unit_rows
from tailwright.models import LaterRows, Model, ModelCard, models
from tailwright.models.shared.reasons import Reasons, Step, WordShare, word_shares
from tailwright.models.shared.text_blocks import text_blocks
from tailwright.progress import progress
from tailwright.settings import Settings, setting
from tailwright.store import FolderReader, FolderWriter, open_folder, writing
from tailwright.training.executor import Executor, elsewhere
from tailwright.training.forest import Forest
from tailwright.training.forest_paths import PathStep, TextInForest
from tailwright.training.forest_pieces import (
    LabelsToCluster,
    PieceMemory,
    forests_by_pieces,
    grown_label_tree,
)
from tailwright.training.forest_rows import ForestRows
from tailwright.training.memory import MB, MemoryNeed, give_back
from tailwright.training.one_versus_rest import NodeWeights, SolvedNodes, Solver, solve_level
from tailwright.training.out_of_core import room_for
from tailwright.training.tree_shards import LABELS_A_SHARD
from tailwright.training.workplace import Workplace

LESS_MEMORY = "fewer trees (--set trees=1) or a larger prune (--set prune=0.3) need less"
Grown: TypeAlias = Callable[[Sequence[int]], Iterator[tuple[int, Forest]]]  # grows the trees of some numbers
LOSSES = {"squared hinge": SQUARED_HINGE, "logistic": LOGISTIC}


@dataclass(frozen=True)
class LinearSettings(Settings):
    """What can be set of linear."""

    trees: int = setting(3, "trees, each with other clusters; more are better and slower", least=1, most=1000)
    depth: int = setting(3, "levels of a tree, that of the labels included; 1: no tree", least=1, most=64)
    branching: int = setting(100, "clusters that a node of the tree is cut into", least=2, most=1_000_000)
    cluster_size: int = setting(100, "a node with so many labels or fewer is not cut any more", least=1)
    label_texts: float = setting(
        1.0, "weight of a label's own text beside its rows, where labels are clustered", least=0
    )
    loss: Literal["squared hinge", "logistic"] = setting("squared hinge", "loss of a classifier")
    cost: float = setting(1.0, "weight of the loss against the size of the weights", above=0, most=1_000_000)
    tolerance: float = setting(
        0.1, "how far from the optimum a classifier may be, in units of margin", above=0
    )
    prune: float = setting(0.1, "smaller weights are dropped", least=0)
    beam: int = setting(10, "clusters that a text is followed into, at each level", least=1, most=100_000)


@models.register
class Linear(Model):
    """A label without a training row that counts is never predicted."""

    card = ModelCard(
        name="linear",
        summary="one-versus-rest linear classifiers over shallow label trees, on TF-IDF",
        reads=("texts", "targets", "label texts"),
        paper="Bonsai",
        continues="all rows",
    )
    Settings = LinearSettings

    features: TfIdf
    forest: Forest
    _reached: tuple[np.ndarray, Linear] | None = None  # what `reaching` gave last, and for which labels

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        train, settings = corpus.train, self.settings
        with ExitStack() as stack:
            is_large = stack.enter_context(room_for(expected_rows(train), work))
            fit_transform = fit_transform_in_shards if is_large else TfIdf.fit_transform
            with work.phase("features", rows=len(train)):
                self.features, matrix = fit_transform(train.texts)
            with work.phase("clusters"):
                of_labels = self._label_vectors_in_files if is_large else self._label_vectors
                labels, vectors = of_labels(corpus, matrix)
                vectors = vectors if is_large else vectors[labels]
            give_back()
            need = memory_need(vectors, matrix, settings)
            is_large = stack.enter_context(room_for(need, work))
            (need.without("rows") if is_large else need).announce(work, LESS_MEMORY)
            shape = TreeShape(settings.depth, settings.branching, settings.cluster_size)
            to_cluster = LabelsToCluster(vectors, labels, shape, seed)
            executor = elsewhere()
            if executor is None:
                grown = _one_by_one(
                    lambda n: self._tree(n, grown_label_tree(to_cluster, n), train, matrix, seed), work
                )
            else:
                rows, memory = self._rows(train, matrix, seed), memory_of_pieces(vectors, matrix, settings)
                grown = _by_pieces(executor, to_cluster, rows, work, memory)
            self.forest = self._forest(grown, settings.trees, len(corpus.labels), work)

    def learn_more(self, before: Model, later: LaterRows, *, seed: int, work: Workplace) -> None:
        """Old words keep their weights and old labels their clusters, so most nodes need not be solved again.

        A node is, if a new row reaches it.
        """
        assert isinstance(before, Linear)
        train, is_new = later.corpus.train, later.is_new()
        with work.phase("features", rows=len(train), new_rows=int(is_new.sum())):
            new_texts = train.texts.filter(pa.array(is_new))
            self.features, places = before.features.with_new_words(new_texts)
            matrix = self.features.transform(train.texts)
        with work.phase("clusters"):
            labels, vectors = self._label_vectors(later.corpus, matrix)
        memory_need(vectors, matrix, self.settings).announce(work, LESS_MEMORY)
        known = before.forest.trees()

        def tree_of(number: int) -> Forest:
            tree, levels = known[number]
            grown = with_more_labels(tree, np.setdiff1d(labels, tree.labels), vectors)
            solved = [[node.with_features_at(places) for node in level] for level in levels]
            return self._tree(number, grown, train, matrix, seed, solved, is_new)

        self.forest = self._forest(_one_by_one(tree_of, work), len(known), len(later.corpus.labels), work)

    def _label_vectors(self, corpus: Corpus, matrix: sparse.csr_array) -> tuple[np.ndarray, sparse.csr_array]:
        """The labels with rows that count, and (labels, columns): what all labels are clustered by."""
        targets = corpus.train.weighted_targets()
        vectors = pifa(targets, matrix)
        if self.settings.label_texts:
            texts = self.features.transform(corpus.labels.texts)  # of length 1, as are the others
            vectors = unit_rows(vectors + np.float32(self.settings.label_texts) * texts)
        return np.flatnonzero(targets.sum(axis=0) > 0).astype(np.int32), vectors

    def _label_vectors_in_files(
        self, corpus: Corpus, matrix: sparse.csr_array
    ) -> tuple[np.ndarray, sparse.csr_array]:
        """The labels with rows that count, and what these alone are clustered by, in files."""
        targets, weight = corpus.train.weighted_targets(), np.float32(self.settings.label_texts)
        counts = targets.sum(axis=0) > 0
        sizes = [np.zeros(1, np.int64)]
        with Pile(np.int32) as columns, Pile(np.float32) as values:
            for block, vectors in pifa_in_blocks(targets, matrix):
                if weight:
                    own_texts = corpus.labels.texts.slice(block.start, len(block))
                    vectors = unit_rows(vectors + weight * self.features.transform(own_texts))
                vectors = vectors[np.flatnonzero(counts[block.start : block.stop])]
                columns.add(vectors.indices)
                values.add(vectors.data)
                sizes.append(np.diff(vectors.indptr))
            rows = np.cumsum(np.concatenate(sizes)), columns.array(), values.array()
        return np.flatnonzero(counts).astype(np.int32), csr_of_rows(rows, matrix.shape[1])

    def _forest(self, grown: Grown, trees: int, labels: int, work: Workplace) -> Forest:
        """All trees; those that a killed fit finished are kept."""
        # A finished tree waits in its folder if there is one, where a resumed fit finds it.
        folders = {number: _folder_of(number, work) for number in range(trees)}
        places = {number: folder / "finished" for number, folder in folders.items() if folder is not None}
        done = {number for number, place in places.items() if work.resume and place.exists()}
        here: dict[int, Forest] = {}
        for number, tree in grown([number for number in range(trees) if number not in done]):
            if number not in places:
                here[number] = tree
                continue
            with writing(places[number], kind="tree", overwrite=True) as writer:
                tree.save(writer)
            del tree
        columns = len(self.features.vocabulary)
        for number, place in places.items():
            here[number] = Forest.load(open_folder(place, kind="tree"), labels, columns)
        return Forest.together([here[number] for number in range(trees)])

    def _rows(self, train: Dataset, matrix: sparse.csr_array, seed: int) -> ForestRows:
        """What all trees are trained on."""
        settings = self.settings
        solver = Solver(LOSSES[settings.loss], settings.cost, settings.tolerance, settings.prune, seed)
        return ForestRows(matrix, TargetRows(train), solver)

    def _tree(
        self,
        number: int,
        tree: LabelTree,
        train: Dataset,
        matrix: sparse.csr_array,
        seed: int,
        solved_before: Sequence[list[NodeWeights]] = (),
        is_new: np.ndarray | None = None,
    ) -> Forest:
        """The tree of that number with its classifiers; nodes `solved_before` by level, without new rows."""
        threads = numba.get_num_threads()
        order, rows, solver = self._rows(train, matrix, seed).of_tree(number)
        total = sum(tree.width(level) for level in range(tree.depth))
        with progress(f"tree {number + 1} of {self.settings.trees}", total, "classifiers") as advance:
            solved = []
            for level in range(tree.depth):
                before = None if is_new is None else SolvedNodes(solved_before[level], is_new[order])
                solved.append(
                    solve_level(rows, tree, level, solver, threads=threads, advance=advance, before=before)
                )
        return Forest.grown(tree, solved, train.labels, matrix.shape[1])

    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        beam, loss = self.settings.beam, LOSSES[self.settings.loss]
        none = TopK(np.empty((0, k), np.int32), np.empty((0, k), np.float32))
        blocks = map(self.features.rows, text_blocks(texts, "predicting"))
        return TopK.concat([none, *(self.forest.search(block, k, beam=beam, loss=loss) for block in blocks)])

    def reaching(self, allowed: np.ndarray) -> Linear:
        if self._reached is None or self._reached[0] is not allowed:  # kept for the next texts
            forest = self.forest.among(allowed)
            wider = Linear(replace(self.settings, beam=max(self.settings.beam, forest.inner_slots)))
            wider.features, wider.forest = self.features, forest
            self._reached = allowed, wider
        return self._reached[1]

    def knows(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray:
        return self.features.knows(texts)

    def explain(self, text: str, labels: Sequence[int]) -> list[Reasons]:
        """Words by what they add to the margin of the label's own classifier, a mean over the trees.

        The score of a label is the mean over the trees of the product of the activations on its path.
        """
        row = self.features.rows([text])
        words = self.features.vocabulary.take(pa.array(row[1])).to_pylist()
        inside = TextInForest(self.forest, row, beam=self.settings.beam, loss=LOSSES[self.settings.loss])
        return [_reasons(text, words, inside.paths_to(label)) for label in labels]

    def save(self, folder: FolderWriter) -> None:
        self.features.save(folder.sub("features"))
        self.forest.save(folder.sub("forest"))

    def load(self, folder: FolderReader, labels: int) -> None:
        self.features = TfIdf.load(folder.sub("features"))
        self.forest = Forest.load(folder.sub("forest"), labels, len(self.features.vocabulary))


def expected_rows(train: Dataset) -> MemoryNeed:
    """What the features of the rows will take, before there are any.

    A word and the blank behind it are six letters in English, more in most languages. The matrix is there as
    it is, and for the labels' vectors with rows of length 1; then come these vectors, which have the words of
    each of a row's labels at most, and two copies of them.
    """
    bounds, _ = text_buffers(train.texts)
    words = float(bounds[-1] - bounds[0] + len(train)) / 6
    labels_a_row = train.targets.nnz / max(len(train), 1)
    return MemoryNeed({"rows": 8 * words * (2 + 3 * max(labels_a_row, 1))})


def memory_need(vectors: sparse.csr_array, matrix: sparse.csr_array, settings: LinearSettings) -> MemoryNeed:
    """What is still to come once the labels' `vectors` and the `matrix` of the rows are known.

    For each word of a label's rows a tree has one to three weights, and it is there twice when its nodes are
    put together. The rows are there in random order, by word, and those that a classifier looks at side by
    side. Clusters come before that: the root's have a number for each word and cluster.
    """
    # A single tree is put together and checked, which takes as much as three that are put side by side.
    classifiers, rows = max(settings.trees + 1, 4) * 24.0 * vectors.nnz, 3.0 * 8 * matrix.nnz
    clusters = 8.0 * vectors.nnz + 4.0 * matrix.shape[1] * settings.branching * (settings.depth > 1)
    left = max(0.0, clusters - classifiers - rows)
    return MemoryNeed({"clusters": left, "rows": rows, "classifiers": classifiers})


def memory_of_pieces(
    vectors: sparse.csr_array, matrix: sparse.csr_array, settings: LinearSettings
) -> PieceMemory:
    """What a label tree and a shard of one take in a process that does nothing else; see `memory_need`."""
    clusters = 8.0 * vectors.nnz + 4.0 * matrix.shape[1] * settings.branching * (settings.depth > 1)
    shards = max(1, vectors.shape[0] // LABELS_A_SHARD)  # of a level
    return PieceMemory(clusters / MB, (3.0 * 8 * matrix.nnz + 24.0 * vectors.nnz / shards) / MB)


def _one_by_one(tree_of: Callable[[int], Forest], work: Workplace) -> Grown:
    def grown(numbers: Sequence[int]) -> Iterator[tuple[int, Forest]]:
        for number in numbers:
            with work.phase("tree", number=number):
                tree = tree_of(number)
            yield number, tree
            del tree  # before the next one grows

    return grown


def _by_pieces(
    executor: Executor, to_cluster: LabelsToCluster, rows: ForestRows, work: Workplace, memory: PieceMemory
) -> Grown:
    def grown(numbers: Sequence[int]) -> Iterator[tuple[int, Forest]]:
        folders = {number: _folder_of(number, work) for number in numbers}
        return forests_by_pieces(executor, to_cluster, rows, folders, work, memory)

    return grown


def _folder_of(number: int, work: Workplace) -> Path | None:
    """Where a tree is kept while others grow."""
    return work.sub(f"tree-{number}").folder


def _reasons(text: str, words: Sequence[str], paths: Sequence[Sequence[PathStep]]) -> Reasons:
    """Of a label with these paths, one a tree; `words` are those of the text that the model knows."""
    if not paths:
        silent = word_shares(text, dict.fromkeys(words, 0.0))
        return Reasons("margin", silent, notes=("linear has no classifier for it: no training row counted",))
    own = [path[-1] for path in paths]
    shares = np.mean([step.shares for step in own], axis=0)
    over = f", a mean over {len(paths)} trees" if len(paths) > 1 else ""
    return Reasons(
        f"margin of the label's classifier{over}",
        word_shares(text, dict(zip(words, shares.tolist(), strict=True))),
        bias=float(np.mean([step.bias for step in own])),
        exact=True,
        paths=tuple(tuple(_step(words, step) for step in path) for path in paths),
    )


def _step(words: Sequence[str], step: PathStep) -> Step:
    values = zip(words, step.shares.tolist(), strict=True)
    shares = tuple(WordShare(word, value) for word, value in values if value)
    return Step(step.margin, step.activation, step.kept, step.bias, shares)
