"""The tree of attentionxml: its clusters, what a row learns at each level, the search down to the labels."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tailwright.checks.corpora import tiny_corpus
from tailwright.data.batch_targets import of_groups
from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, Origin
from tailwright.data.pairs import pairs_from_lists
from tailwright.data.text.sequences import TokenBatch
from tailwright.errors import InputError
from tailwright.models.attentionxml import AttentionXmlSettings
from tailwright.models.attentionxml.model import AttentionXml
from tailwright.models.attentionxml.network import TreeNetwork, log_odds
from tailwright.models.attentionxml.phases import LevelPhase, filled
from tailwright.models.attentionxml.tree import LabelLevels, label_levels
from tailwright.settings import settings_from
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

sys.path.insert(0, str(Path(__file__).parent))
from tiny_attentionxml import FLAT, TREE, fitted, of_epochs

LEAVES = np.array([0, 3, 1, 2, 0, 3, 1, 2, 0], dtype=np.int32)  # of 9 labels, in 4 clusters
TREE_OF_9 = LabelLevels((2, 4), LEAVES)


def network_of(tree: LabelLevels, beam: int) -> TreeNetwork:
    table = np.random.default_rng(0).normal(size=(20, 5)).astype(np.float32)
    settings = settings_from(AttentionXmlSettings, {"lstm.hidden": 3, "layers": (4,), "beam": beam})
    return TreeNetwork(tree, table, settings, seed=1).eval()


def batch_of(rows: int) -> TokenBatch:
    ids = np.random.default_rng(1).integers(0, 20, (rows, 6)).astype(np.int32)
    return TokenBatch(ids, np.arange(1, rows + 1, dtype=np.int32).clip(max=6))


def own_probabilities(network: TreeNetwork, number: int, batch: TokenBatch) -> np.ndarray:
    """(rows, nodes): the sigmoid of a level's logits of all its nodes."""
    level = network.level(number)
    with torch.no_grad():
        return torch.sigmoid(level.head.logits(level.encoder(batch)).double()).numpy()


def test_nodes_know_their_children():
    first, second = TREE_OF_9.children
    assert first.tolist() == [[0, 1], [2, 3]]
    assert second.tolist() == [[0, 4, 8], [2, 6, -1], [3, 7, -1], [1, 5, -1]]
    assert TREE_OF_9.node_of_label(0).tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert [TREE_OF_9.width(level) for level in range(3)] == [2, 4, 9]


def test_clusters_of_a_corpus_are_equal_halves_of_halves():
    corpus = tiny_corpus()
    tree = label_levels(corpus, (2, 4), min_count=1, seed=0)
    assert sorted(np.bincount(tree.leaves)) == [2, 3, 3, 3]
    assert sorted(np.bincount(tree.node_of_label(0))) == [5, 6]


def test_labels_of_the_same_rows_share_a_cluster():
    ids = [[0, 3], [1, 2]] * 6
    data = Dataset(["red hat", "blue shoe"] * 6, pairs_from_lists(ids, 4))
    tree = label_levels(Corpus(data, LabelSpace.numbered(4)), (2,), min_count=1, seed=0)
    assert tree.leaves[0] == tree.leaves[3] != tree.leaves[1] == tree.leaves[2]


def test_made_rows_describe_only_labels_without_others():
    # Label 2 has made rows alone, like those of label 1; made rows of label 0 would put it with label 1 too.
    texts = ["red hat", "blue shoe", "green coat", *["blue shoe"] * 5]
    ids = [[0], [1], [3], *[[0, 2]] * 5]
    origin = Origin.concat([Origin.originals(3), Origin.made_by("toy", np.zeros(5))])
    data = Dataset(texts, pairs_from_lists(ids, 4), origin=origin)
    tree = label_levels(Corpus(data, LabelSpace.numbered(4)), (2,), min_count=1, seed=0)
    assert tree.leaves[1] == tree.leaves[2]
    assert tree.leaves[0] == tree.leaves[3]


def test_the_target_of_a_node_is_the_largest_of_its_labels():
    data = Dataset(["a", "b"], pairs_from_lists([[0, 1, 2], [3]], 4, [[0.25, 0.5, 1.0], [0.75]]))
    found = of_groups(data, np.array([0, 0, 1, 1], dtype=np.int32), 2)
    assert found.targets.toarray().tolist() == [[0.5, 1.0], [0.0, 0.75]]


def test_a_node_under_an_ignored_label_alone_is_ignored():
    data = Dataset(
        ["a", "b"],
        pairs_from_lists([[0, 2], [0, 1]], 4),
        np.array([0.5, 2.0]),
        ignored=pairs_from_lists([[1, 2], [0]], 4),
        excluded=pairs_from_lists([[3], [2]], 4),
    )
    found = of_groups(data, np.array([0, 0, 1, 1], dtype=np.int32), 2)
    # Row 0: label 2 is ignored, so its node is not known; label 0 makes the first node right all the same.
    assert found.targets.toarray().tolist() == [[1, 0], [1, 0]]
    assert found.ignored.toarray().tolist() == [[0, 1], [0, 0]]
    assert found.excluded.toarray().tolist() == [[0, 1], [0, 1]]
    assert found.weights.tolist() == [0.5, 2.0]


def test_with_a_beam_over_all_leaves_a_label_scores_the_product_over_its_path():
    network, batch = network_of(TREE_OF_9, beam=4), batch_of(5)
    top = network.top_k(batch, 9)
    own = [own_probabilities(network, number, batch) for number in range(3)]
    probabilities = own[0][:, TREE_OF_9.node_of_label(0)] * own[1][:, LEAVES] * own[2]  # (rows, labels)
    assert sorted(top.ids[0]) == list(range(9))
    found = np.take_along_axis(probabilities, top.ids.astype(np.int64), axis=1)
    assert np.all(np.diff(found, axis=1) <= 1e-9)
    np.testing.assert_allclose(top.scores, np.log(found / (1 - found)), rtol=1e-5, atol=1e-6)


def test_a_narrow_beam_looks_under_the_best_clusters_alone():
    network, batch = network_of(TREE_OF_9, beam=1), batch_of(5)
    top = network.top_k(batch, 9)
    first = own_probabilities(network, 0, batch).argmax(1)
    second = own_probabilities(network, 1, batch)
    for row, ids in enumerate(top.ids):
        node = max((2 * first[row], 2 * first[row] + 1), key=lambda child: second[row, child])
        assert sorted(ids[ids >= 0]) == np.flatnonzero(node == LEAVES).tolist()
        assert np.isneginf(top.scores[row][ids < 0]).all()


def test_equal_probabilities_go_by_smaller_label():
    network = network_of(TREE_OF_9, beam=4)
    for level in network.levels:
        level.head.attention.array[...] = 0
    assert (network.top_k(batch_of(3), 9).ids == np.arange(9)).all()


@pytest.mark.parametrize("beam", [1, 2, 3])
def test_true_parents_come_first_and_then_the_best_scored(beam):
    model, corpus = fitted(replace(of_epochs(TREE, 1), beam=beam)), tiny_corpus(60)
    network, tokens = model.network, model.texts.tokens(corpus.train.texts)
    phase = model.phases(tokens, corpus, seed=0, work=Workplace())[2]
    assert isinstance(phase, LevelPhase)
    leaves = network.tree.corpus(corpus, 1).train.targets
    halves = network.tree.corpus(corpus, 0).train.targets
    for row in range(len(tokens)):
        listed = phase.parents(np.array([row])).ids[0].tolist()
        true, above = set(leaves[[row]].indices), set(halves[[row]].indices)
        if len(true) <= beam and len(above) <= beam:
            assert set(listed[: len(true)]) == true
        else:
            assert set(listed) <= true
        assert len(set(listed)) == len(listed) == min(beam, 4)


def test_of_too_many_true_parents_the_best_scored_are_kept():
    network, batch = network_of(LabelLevels((4,), LEAVES), beam=2), batch_of(4)
    true = np.array([[0, 1, 1, 1]] * 4, dtype=bool)
    beam = network.beam(0, batch, [lambda nodes: np.take_along_axis(true, nodes, axis=1)])
    probabilities = np.where(true, own_probabilities(network, 0, batch), -1)
    assert beam.ids.tolist() == np.argsort(-probabilities, axis=1)[:, :2].tolist()


def test_a_level_starts_from_the_one_above_but_for_its_attention():
    network = network_of(TREE_OF_9, beam=2)
    attention = network.level(1).head.attention.array.copy()
    network.start_from_above(1)
    above, own = (weights_of(network.level(number)) for number in (0, 1))
    assert above.keys() == own.keys()
    assert np.array_equal(own.pop("head.attention.weight"), attention)
    assert all(np.array_equal(above[name], own[name]) for name in own)
    assert not any(np.shares_memory(above[name], own[name]) for name in own)


def test_a_level_that_is_done_is_left_as_it_is(monkeypatch):
    whole = fitted(TREE).network
    phases = AttentionXml.phases
    monkeypatch.setattr(AttentionXml, "phases", lambda *given, **named: phases(*given, **named)[:1])
    first = fitted(TREE).network
    levels = [[weights_of(network.level(number)) for network in (whole, first)] for number in (0, 1)]
    assert all(np.array_equal(found, levels[0][1][name]) for name, found in levels[0][0].items())
    assert not any(np.array_equal(found, levels[1][1][name]) for name, found in levels[1][0].items())


@given(st.data())
def test_lists_are_filled_with_distinct_numbers(data):
    width = data.draw(st.integers(1, 12))
    size = data.draw(st.integers(1, 8))
    rows = []
    for _ in range(data.draw(st.integers(1, 4))):
        numbers = data.draw(st.lists(st.integers(0, width - 1), max_size=size, unique=True))
        row = numbers + [-1] * (size - len(numbers))
        rows.append(data.draw(st.permutations(row)))
    lists = np.array(rows)
    full = filled(lists, width, np.random.default_rng(0))
    assert full.shape == lists.shape
    for before, after in zip(lists, full, strict=True):
        kept = after[after >= 0].tolist()
        assert len(set(kept)) == len(kept)
        assert set(before[before >= 0]) <= set(kept)
        assert max(kept, default=0) < width


def test_empty_places_are_filled_with_labels_that_are_not_below_the_beam():
    lists = np.array([[0, -1, 1, -1]] * 200)
    drawn = filled(lists, 4, np.random.default_rng(0))[:, 2:]
    assert set(drawn.ravel().tolist()) == {-1, 2, 3}


@pytest.mark.parametrize("probability", [1e-300, 1e-20, 0.3, 1 - 1e-12])
def test_log_odds_are_exact_near_0_and_near_1(probability):
    wanted = np.log(probability) - np.log1p(-probability)
    assert log_odds(np.array([np.log(probability)]))[0] == pytest.approx(wanted, rel=1e-4)


def test_a_certain_label_has_finite_log_odds():
    assert np.isfinite(log_odds(np.zeros(1, dtype=np.float32))).all()


def test_validation_rows_choose_the_weights_of_every_level(tmp_path):
    work = Workplace(tmp_path)
    fitted(of_epochs(TREE, 3), work, valid=True)
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    judged = [line for line in lines if '"epoch"' in line and '"valid"' in line]
    assert [sum(f'"phase": "level-{n}"' in line for line in judged) for n in (1, 2, 3)] == [3, 3, 3]


def test_what_is_watched_is_asked_of_the_labels_alone(tmp_path):
    model, corpus = AttentionXml(of_epochs(TREE, 1)), tiny_corpus(60)
    model.watch = {"train": corpus.train}
    model.fit(corpus, seed=3, work=Workplace(tmp_path))
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert ['"phase": "level-3"' in line for line in lines if '"watched"' in line] == [True]
    plain = fitted(of_epochs(TREE, 1))
    found, wanted = (weights_of(one.network) for one in (model, plain))
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


def test_each_level_has_epochs_and_a_start_of_averages_of_its_own(tmp_path, caplog):
    settings = replace(TREE, level_epochs=(1, 3, 2), level_average_from=(0, 1, 2))
    fitted(settings, Workplace(tmp_path))
    epochs = [
        line for line in (tmp_path / "log.jsonl").read_text().splitlines() if '"event": "epoch"' in line
    ]
    assert [sum(f'"phase": "level-{n}"' in line for line in epochs) for n in (1, 2, 3)] == [1, 3, 2]
    assert caplog.messages == [
        "weights are never averaged in level-3 (average_from 2, epochs 2): epochs are counted from 0"
    ]


def test_without_lists_every_level_is_trained_like_the_others():
    same = replace(TREE, level_epochs=(2, 2, 2), level_average_from=(0, 0, 0))
    found, wanted = (weights_of(fitted(settings).network) for settings in (same, TREE))
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


def test_a_level_that_averages_is_counted_in_the_memory():
    corpus = tiny_corpus(60)
    needs = []
    for starts in ((), (0, 0, 0)):
        plain = replace(TREE, training=replace(TREE.training, average_from=None), level_average_from=starts)
        model = fitted(plain)
        needs.append(model.memory_need(model.texts.tokens(corpus.train.texts), corpus))
    assert needs[0].items["averaged weights"] == 0 < needs[1].items["averaged weights"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (replace(TREE, level_epochs=(1, 2)), "level_epochs has 2 numbers, expected 3, one for each level"),
        (replace(TREE, level_average_from=(1,)), "level_average_from has 1 number, expected 3, one for each"),
        (replace(FLAT, level_epochs=(1,)), "level_epochs has 1 number, expected none: there is no tree"),
    ],
)
def test_a_list_by_level_of_another_length_is_refused_in_one_line(settings, message):
    with pytest.raises(InputError, match=message):
        fitted(settings)
