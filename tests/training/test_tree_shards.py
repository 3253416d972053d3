"""A tree that is solved in shards has the weights of one that is solved whole, however it is cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tailwright.checks.corpora import odd_corpus, tiny_corpus
from tailwright.data.corpus import Corpus, corpus_from_lists
from tailwright.data.dataset import Origin
from tailwright.labels.tree import LabelTree
from tailwright.models.linear import Linear, LinearSettings
from tailwright.training.executor import InProcess, executing_on
from tailwright.training.forest import Forest
from tailwright.training.tree_shards import TreeShard, shards_of
from tailwright.training.workplace import Workplace

ARRAYS = ("roots", "slot_starts", "children", "biases", "pair_starts", "features")


class Backwards(InProcess):
    """Gives the last piece first."""

    def run(self, task, shared, pieces, *, memory_mb=0.0) -> Iterator:
        assert memory_mb > 0
        yield from reversed(list(super().run(task, shared, pieces)))


def forests_alike(one: Forest, other: Forest) -> bool:
    mine, theirs = (
        [*(getattr(forest, name) for name in ARRAYS), *forest.weight_arrays] for forest in (one, other)
    )
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))


def with_label_weights() -> Corpus:
    corpus = tiny_corpus()
    made = np.arange(120) % 2
    origin = Origin(corpus.train.origin.rows, made.astype(np.int16), ("", "copy"))
    weights = np.linspace(0.2, 1.5, 11)
    return corpus.with_train(replace(corpus.train, origin=origin, label_weights=weights))


@pytest.mark.parametrize("labels_a_shard", [1, 3, 4096])
@pytest.mark.parametrize(
    ("corpus", "settings"),
    [
        (tiny_corpus, LinearSettings(cluster_size=2, branching=2, trees=2)),
        (tiny_corpus, LinearSettings(cluster_size=1, branching=3, depth=4, trees=1, loss="logistic")),
        (tiny_corpus, LinearSettings(depth=1, trees=1)),
        (with_label_weights, LinearSettings(cluster_size=2, branching=3, trees=1)),
        (odd_corpus, LinearSettings(cluster_size=1, branching=2, trees=1)),
        (lambda: corpus_from_lists(["red", "blue"], [[], []], ["a"]), LinearSettings(trees=1)),
    ],
    ids=["binary", "deep", "flat", "label weights", "odd rows", "no label"],
)
def test_any_shards_give_the_same_forest(corpus, settings, labels_a_shard, monkeypatch):
    monkeypatch.setattr("tailwright.training.tree_shards.LABELS_A_SHARD", labels_a_shard)
    whole, cut = Linear(settings), Linear(settings)
    whole.fit(corpus(), seed=5)
    with executing_on(Backwards()):
        cut.fit(corpus(), seed=5)
    assert forests_alike(whole.forest, cut.forest)


def test_shards_cover_every_node_once_and_share_the_work(monkeypatch):
    monkeypatch.setattr("tailwright.training.tree_shards.LABELS_A_SHARD", 2)
    starts = (np.array([0, 9]), np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]))
    tree = LabelTree(starts, np.arange(9))
    shards = shards_of(7, tree, np.array([100, 1, 1, 1, 1, 1, 1, 1, 50]))
    assert all(shard.tree == 7 for shard in shards)
    assert shards[:3] == [TreeShard(7, 0, 0, 4), TreeShard(7, 0, 4, 8), TreeShard(7, 0, 8, 9)]
    below = [(shard.first, shard.last) for shard in shards if shard.level == 1]
    assert below == [(0, 1), (1, 9)]  # the label of 100 rows has one for itself


def test_pieces_of_a_finished_tree_are_removed(tmp_path):
    with executing_on(Backwards()):
        Linear(LinearSettings(trees=2)).fit(tiny_corpus(), work=Workplace(tmp_path))
    assert sorted(path.name for path in tmp_path.glob("tree-*/*")) == ["finished", "finished"]
