"""The model `linear`: its settings, its folder, and what its trees look like."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numba
import numpy as np
import pytest
from scipy import sparse

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.corpus import corpus_from_lists
from tailwright.data.dataset import Origin
from tailwright.errors import InputError
from tailwright.labels.tree import TreeShape, label_tree
from tailwright.models.linear import Linear, LinearSettings
from tailwright.store import open_folder, writing
from tailwright.training.workplace import Workplace


@pytest.mark.parametrize(
    "settings",
    [
        LinearSettings(cluster_size=2, branching=2),
        LinearSettings(cluster_size=1, branching=3, depth=4),
        LinearSettings(depth=1, trees=1),
        LinearSettings(loss="logistic", cluster_size=3, branching=3),
    ],
    ids=["binary", "deep", "flat", "logistic"],
)
def test_every_shape_of_tree_and_either_loss_learns_the_tiny_corpus(settings):
    corpus = tiny_corpus()
    model = Linear(settings)
    model.fit(corpus)
    top = model.predict(corpus.train.texts, 1).ids[:, 0]
    right = np.mean([corpus.train.targets[[row], [label]].item() > 0 for row, label in enumerate(top)])
    assert right > 0.95


@pytest.mark.parametrize("loss", ["squared hinge", "logistic"])
def test_equal_label_weights_are_weights_of_made_rows_at_every_level_of_a_tree(loss):
    corpus = tiny_corpus()
    made = np.arange(120) % 2 == 1
    origin = Origin(corpus.train.origin.rows, made.astype(np.int16), ("", "copy"))
    tops = []
    for change in ({"label_weights": np.full(11, 0.5)}, {"weights": np.where(made, 0.5, 1)}):
        model = Linear(LinearSettings(cluster_size=2, branching=2, trees=1, loss=loss))
        model.fit(corpus.with_train(replace(corpus.train, origin=origin, **change)))
        tops.append(model.predict(corpus.train.texts, 11))
    np.testing.assert_array_equal(tops[0].ids, tops[1].ids)
    np.testing.assert_array_equal(tops[0].scores, tops[1].scores)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("trees", 0, "trees must be in \\[1, 1000\\], got 0"),
        ("depth", 0, "depth must be in \\[1, 64\\], got 0"),
        ("branching", 1, "branching must be in \\[2, 1000000\\], got 1"),
        ("cost", 0.0, "cost must be in \\(0, 1000000\\], got 0.0"),
        ("prune", -1.0, "prune must be >= 0, got -1.0"),
        ("loss", "hinge", "loss must be one of squared hinge, logistic, got 'hinge'"),
    ],
)
def test_a_bad_setting_is_named(setting, value, message):
    with pytest.raises(ValueError, match=message):
        LinearSettings(**{setting: value})


@pytest.mark.parametrize("threads", [1, 2])
def test_the_number_of_threads_makes_no_difference(threads):
    corpus = tiny_corpus()
    settings = LinearSettings(cluster_size=2, branching=3, trees=2)
    before = numba.get_num_threads()
    whole, limited = Linear(settings), Linear(settings)
    whole.fit(corpus)
    try:
        numba.set_num_threads(min(threads, before))
        limited.fit(corpus)
    finally:
        numba.set_num_threads(before)
    assert np.array_equal(whole.forest.weights.data, limited.forest.weights.data)
    assert np.array_equal(whole.forest.children, limited.forest.children)


def test_a_label_without_a_row_that_counts_is_never_predicted():
    corpus = corpus_from_lists(["red hat", "blue shoe", "red shoe"], [[0], [1], [2]], ["a", "b", "c", "d"])
    weights = np.array([1, 1, 0], dtype=np.float32)
    model = Linear()
    model.fit(corpus.with_train(replace(corpus.train, weights=weights)))
    assert sorted(set(model.predict(["red shoe"], 4).ids[0].tolist())) == [-1, 0, 1]


def test_a_corpus_without_any_label_is_fitted_and_predicts_nothing():
    corpus = corpus_from_lists(["red hat", "blue shoe"], [[], []], ["a", "b"])
    model = Linear()
    model.fit(corpus)
    assert model.predict(["red hat"], 2).ids.tolist() == [[-1, -1]]


def test_a_half_sure_row_is_between_a_negative_and_a_positive():
    scores = []
    for value in (0.25, 0.5, 1.0):
        corpus = corpus_from_lists(
            ["red hat", "red", "blue shoe", "blue"], [[0], [1], [1], [1]], ["hat", "shoe"]
        )
        targets = corpus.train.targets.copy()
        targets.data = np.where(targets.indices == 0, np.float32(value), targets.data)
        model = Linear()
        model.fit(corpus.with_train(replace(corpus.train, targets=targets)))
        top = model.predict(["red hat"], 2)
        scores.append(float(top.scores[0][top.ids[0] == 0][0]))
    assert scores[0] < scores[1] < scores[2]


def test_phases_are_logged(tmp_path):
    model = Linear(LinearSettings(trees=2))
    model.fit(tiny_corpus(), work=Workplace(tmp_path))
    log = (tmp_path / "log.jsonl").read_text()
    assert [log.count(f'"phase": "{phase}"') for phase in ("features", "clusters", "tree")] == [2, 2, 4]


def damaged(tmp_path, **changes):
    """A saved model in which arrays of the forest are replaced."""
    model = Linear(LinearSettings(cluster_size=3, branching=3, trees=2))
    model.fit(tiny_corpus())
    forest = model.forest
    with writing(tmp_path / "model", kind="model") as folder:
        model.features.save(folder.sub("features"))
        inside = folder.sub("forest")
        for name in ("roots", "slot_starts", "children", "biases", "pair_starts", "features"):
            inside.array(name, changes.get(name, lambda array: array)(getattr(forest, name).copy()))
        inside.csr("weights", changes.get("weights", lambda matrix: matrix)(forest.weights.copy()))
    loaded = Linear(model.settings)
    loaded.load(open_folder(tmp_path / "model", kind="model"), 11)
    return loaded


def with_entry(place, value):
    def change(array):
        array[place] = value
        return array

    return change


def last_slot_of_the_first_pair(matrix):
    matrix.indices[:] = matrix.shape[1] - 1
    return matrix


def test_a_saved_model_is_loaded(tmp_path):
    assert damaged(tmp_path).predict(["apple"], 1).ids[0, 0] == 0


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("roots", with_entry(0, 99)),
        ("slot_starts", with_entry(1, 10**9)),
        ("slot_starts", lambda array: array[:-1]),
        ("children", with_entry(0, 0)),
        ("children", with_entry(-1, -12)),
        ("children", with_entry(-1, 10**6)),
        ("pair_starts", with_entry(-1, 1)),
        ("features", with_entry(0, 10**6)),
        ("features", lambda array: array[::-1]),
        ("biases", with_entry(0, np.nan)),
        ("biases", lambda array: array[:-1]),
        ("weights", lambda matrix: sparse.csr_array(matrix[:-1])),
        ("weights", last_slot_of_the_first_pair),
    ],
)
def test_a_damaged_forest_is_refused(tmp_path, name, change):
    with pytest.raises(InputError, match="forest"):
        damaged(tmp_path, **{name: change})


def test_a_forest_for_other_labels_is_refused(tmp_path):
    model = Linear()
    model.fit(tiny_corpus())
    with writing(tmp_path / "model", kind="model") as folder:
        model.save(folder)
    with pytest.raises(InputError, match="children"):
        Linear().load(open_folder(tmp_path / "model", kind="model"), 5)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_tree_holds_every_label_once_and_cuts_only_large_nodes(depth):
    vectors = sparse.random_array(
        (300, 40), density=0.1, rng=np.random.default_rng(0), format="csr", dtype=np.float32
    )
    labels = np.arange(1000, 1300, dtype=np.int32)
    tree = label_tree(
        vectors, labels, TreeShape(depth=depth, branching=4, cluster_size=20), seed=0, threads=2
    )
    assert tree.depth == depth
    assert sorted(tree.labels.tolist()) == labels.tolist()
    for level in range(depth - 1):
        assert tree.starts[level + 1].shape == (tree.width(level) + 1,)
        assert (np.diff(tree.starts[level]) >= 1).all()
        assert (np.diff(tree.starts[level]) <= 4).all()
    nodes = [tree.node_of_label(level, 1300) for level in range(depth)]
    assert (nodes[-1][tree.labels] == np.arange(300)).all()
    for above, below in pairwise(nodes):
        assert len(set(zip(above[1000:], below[1000:], strict=True))) == len(set(below[1000:]))


def test_a_huge_lowest_node_is_cut_into_balanced_siblings(monkeypatch):
    vectors = sparse.random_array(
        (600, 40), density=0.1, rng=np.random.default_rng(0), format="csr", dtype=np.float32
    )
    vectors.data[vectors.indptr[100] :] = 0  # like no centroid: k-means leaves these together
    vectors.eliminate_zeros()
    shape, labels = TreeShape(depth=3, branching=4, cluster_size=20), np.arange(600, dtype=np.int32)
    as_it_was = label_tree(vectors, labels, shape, seed=0)
    monkeypatch.setattr("tailwright.labels.tree.TOLERATED", 400)
    monkeypatch.setattr("tailwright.labels.tree.MOST_LABELS", 100)
    cut = label_tree(vectors, labels, shape, seed=0)
    assert np.diff(as_it_was.starts[-1]).max() >= 500
    assert np.diff(cut.starts[-1]).max() <= 100
    assert cut.depth == as_it_was.depth
    assert sorted(cut.labels.tolist()) == labels.tolist()
    assert (cut.starts[1][-1], cut.starts[2][-1]) == (cut.width(1), 600)
    top = cut.node_of_label(0, 600)
    assert (top == as_it_was.node_of_label(0, 600)).all()


def test_labels_on_the_same_words_share_a_cluster():
    vectors = sparse.csr_array(np.repeat(np.eye(3, dtype=np.float32), 10, axis=0))
    tree = label_tree(vectors, np.arange(30), TreeShape(depth=2, branching=8, cluster_size=5), seed=1)
    cluster = tree.node_of_label(0, 30)
    assert all(len(set(cluster[start : start + 10])) == 1 for start in (0, 10, 20))


def test_linear_beats_the_label_matcher_on_real_titles(real_data):
    corpus = tw.read(real_data / "cooking-se")
    linear = tw.evaluate(tw.train(corpus, "linear", augment=[], settings={"trees": 1}), corpus.test)
    matcher = tw.evaluate(tw.train(corpus, "label-matcher", augment=[]), corpus.test)
    assert linear["P@1"] > matcher["P@1"]
    assert linear["PSP@5"] > matcher["PSP@5"]


def test_trees_together_are_searched_as_one_forest():
    corpus = tiny_corpus()
    both = Linear(LinearSettings(trees=2, cluster_size=2, branching=2))
    both.fit(corpus)
    alone = Linear(LinearSettings(trees=1, cluster_size=2, branching=2))
    alone.fit(corpus)
    assert len(both.forest.roots) == 2
    first = both.forest.roots[1]  # nodes of the first tree
    np.testing.assert_array_equal(both.forest.slot_starts[: first + 1], alone.forest.slot_starts)
    np.testing.assert_array_equal(both.forest.children[: len(alone.forest.children)], alone.forest.children)
    wide = both.forest.weights[: alone.forest.weights.shape[0], : alone.forest.weights.shape[1]]
    np.testing.assert_array_equal(wide.toarray(), alone.forest.weights.toarray())


def test_a_resumed_fit_grows_only_the_trees_that_are_missing(tmp_path, monkeypatch):
    corpus = tiny_corpus()
    whole = Linear(LinearSettings(trees=3))
    whole.fit(corpus, seed=4)
    grown = []
    tree = Linear._tree

    def counted(self, number, *rest):
        if number == 2 and len(grown) == 2:
            grown.append("killed")
            raise KeyboardInterrupt
        grown.append(number)
        return tree(self, number, *rest)

    monkeypatch.setattr(Linear, "_tree", counted)
    with pytest.raises(KeyboardInterrupt):
        Linear(LinearSettings(trees=3)).fit(corpus, seed=4, work=Workplace(tmp_path))
    resumed = Linear(LinearSettings(trees=3))
    resumed.fit(corpus, seed=4, work=Workplace(tmp_path, resume=True))
    assert grown == [0, 1, "killed", 2]
    before, after = (model.predict(corpus.train.texts, 5) for model in (whole, resumed))
    np.testing.assert_array_equal(before.ids, after.ids)
    np.testing.assert_array_equal(before.scores, after.scores)
