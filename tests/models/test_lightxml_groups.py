"""The groups of lightxml: how they are made, whom a text is matched with, the loss and the scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from plain_groups import plain_chosen, plain_loss
from scipy import sparse
from scipy.special import expit, logit

from tailwright.checks.corpora import tiny_corpus
from tailwright.data.batch_targets import BatchTargets
from tailwright.data.dataset import Dataset, Origin, arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.encoders.dropout import drawing_from
from tailwright.encoders.encoded import Encoded
from tailwright.heads.label_groups import LabelGroups, both_log_odds
from tailwright.labels.vectors import taught_pairs
from tailwright.models.lightxml import LightXmlSettings
from tailwright.models.lightxml.network import GroupedHead, group_count, label_groups
from tailwright.models.shared.token_network import TokenNetwork
from tailwright.streams import stream

# Labels 2, 5, 8, ... are in no group.
OF_LABEL = np.array([0, 1, -1, 2, 3, -1, 0, 2, -1, 3, 1, -1], dtype=np.int32)


def small_head(of_label: np.ndarray = OF_LABEL, top: int = 2) -> GroupedHead:
    """Over features of width 5, in training mode."""
    settings = LightXmlSettings(top_groups=top, hidden=4, kept=9)
    return GroupedHead(LabelGroups(of_label), 5, settings, seed=0, name="lightxml").train()


def read(features: torch.Tensor) -> Encoded:
    return Encoded(features, None)


def batch_of(targets: np.ndarray, ignored: np.ndarray, weights: np.ndarray) -> BatchTargets:
    stored, skipped = sparse.csr_array(targets), sparse.csr_array(ignored)
    return BatchTargets(
        stored.indptr.astype(np.int64),
        stored.indices.astype(np.int32),
        stored.data.astype(np.float32),
        skipped.indptr.astype(np.int64),
        skipped.indices.astype(np.int32),
        weights.astype(np.float32),
    )


def drawn_batch(rows: int, labels: int, share: float, seed: int = 0):
    """(targets, ignored, weights) of rows, soft, only of labels that are in a group."""
    random = stream(seed, "test-lightxml-groups")
    grouped = OF_LABEL[:labels] >= 0
    targets = np.where(random.random((rows, labels)) < share, random.random((rows, labels)), 0) * grouped
    ignored = random.random((rows, labels)) < 0.2
    return targets.astype(np.float32), ignored, random.random(rows).astype(np.float32) + 0.1


@given(st.integers(1, 10**7), st.integers(1, 200), st.integers(1, 1000))
def test_no_group_is_larger_than_allowed_and_none_is_empty(labels, top, largest):
    assert labels <= largest * group_count(labels, top, largest)
    assert group_count(labels, top, None) <= labels


def test_groups_are_balanced_and_hold_the_labels_that_rows_teach():
    corpus = tiny_corpus()
    found = label_groups(corpus.train, 10, 3, seed=0)
    assert found[-1] == -1  # it has no row
    assert sorted(np.bincount(found[:-1])) == [2, 2, 3, 3]


def test_a_label_that_every_row_ignores_is_in_no_group():
    targets = pairs_from_lists([[0, 1], [1]], 3)
    ignored = pairs_from_lists([[1], [1]], 3)
    data = Dataset(arrow_strings(["red hat", "shoe"]), targets, ignored=ignored)
    assert label_groups(data, 10, 1, seed=0).tolist() == [0, -1, -1]


def test_a_label_is_described_by_its_original_rows_where_it_has_some():
    rows = Dataset(arrow_strings(["hat", "shoe"]), pairs_from_lists([[0], [0, 1]], 4, [[0.5], [1.0, 1.0]]))
    made = Dataset(
        arrow_strings(["coat"]),
        pairs_from_lists([[1, 2]], 4, [[1.0, 0.25]]),
        np.array([2.0], dtype=np.float32),
        origin=Origin.made_by("toy", np.array([0])),
    )
    found = taught_pairs(Dataset.concat([rows, made])).toarray()
    assert found.tolist() == [[0.5, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0.5, 0]]


def test_a_label_whose_rows_have_no_words_is_in_a_group():
    data = Dataset(arrow_strings(["red hat", ""]), pairs_from_lists([[0], [1]], 2))
    assert sorted(label_groups(data, 10, 1, seed=0)) == [0, 1]


def test_without_rows_there_are_no_groups_and_nothing_is_answered():
    data = Dataset(arrow_strings([]), pairs_from_lists([], 3))
    head = small_head(label_groups(data, 10, None, seed=0))
    found = head.top_k(read(torch.ones(2, 5)), 3)
    assert (found.ids == -1).all()
    assert (found.scores == -np.inf).all()


@pytest.mark.parametrize("bad", [np.array([0, 2], np.int32), np.array([0, -2], np.int32), np.array([0, 1])])
def test_numbers_that_are_no_groups_are_refused(bad):
    with pytest.raises(ValueError, match=r"group"):
        LabelGroups(bad)


@given(
    st.integers(1, 4),
    st.integers(1, 6),
    st.lists(st.lists(st.integers(0, 5), max_size=6), min_size=1),
    st.data(),
)
def test_true_groups_are_always_chosen_and_the_best_others_fill_up(top, groups, rows, data):
    true = [{group % groups for group in row} for row in rows]
    scores = np.array(
        data.draw(
            st.lists(
                st.lists(st.sampled_from([-3.0, 0.0, 0.5, 9.0]), min_size=groups, max_size=groups),
                min_size=len(rows),
                max_size=len(rows),
            )
        ),
        dtype=np.float32,
    )
    truth = pairs_from_lists([sorted(row) for row in true], groups).toarray()
    targets = batch_of(truth, np.zeros_like(truth), np.ones(len(rows)))
    chosen = LabelGroups(np.arange(groups, dtype=np.int32)).chosen(scores, top, targets)
    for row, wanted in enumerate(true):
        found = chosen[row][chosen[row] >= 0].tolist()
        assert sorted(found) == plain_chosen(scores[row], top, wanted)


def test_with_more_true_groups_than_are_chosen_every_positive_is_a_candidate():
    groups = LabelGroups(np.arange(12, dtype=np.int32) // 2)
    targets = np.zeros((2, 12), dtype=np.float32)
    targets[0, [0, 3, 5, 8, 11]] = 1
    targets[1, 4] = 1
    batch = batch_of(targets, np.zeros((2, 12), bool), np.ones(2))
    scores = np.array([[0, 0, 0, 9, 0, 0]] * 2, dtype=np.float32)
    lists = groups.lists(groups.chosen(scores, 2, batch.of_groups(groups.of_label, groups.count)))
    assert set(lists[0]) - {-1} == {0, 1, 2, 3, 4, 5, 8, 9, 10, 11}  # its five groups, and not the best one
    assert set(lists[1]) - {-1} == {4, 5, 6, 7}


def test_the_target_of_a_group_is_the_largest_of_its_labels_unrounded():
    targets = np.zeros((2, 12), dtype=np.float32)
    targets[0, [0, 6, 3]] = 0.25, 0.75, 0.1
    targets[1, 2] = 1  # in no group
    batch = batch_of(targets, np.zeros((2, 12), bool), np.array([2.0, 3.0]))
    found = batch.of_groups(OF_LABEL, 4)
    assert found.starts.tolist() == [0, 2, 2]
    assert found.labels.tolist() == [0, 2]
    assert found.values.tolist() == [0.75, np.float32(0.1)]
    assert found.weights.tolist() == [2, 3]


def test_a_group_that_only_ignored_labels_point_at_gives_no_loss():
    targets, ignored = np.zeros((1, 12), dtype=np.float32), np.zeros((1, 12), dtype=bool)
    targets[0, [0, 6, 3]] = 0.25, 0.75, 0.5
    ignored[0, [6, 3, 2]] = True
    found = batch_of(targets, ignored, np.ones(1)).of_groups(OF_LABEL, 4)
    # Of group 0 the ignored label is left out of the maximum, group 2 has no other.
    assert (found.labels.tolist(), found.values.tolist()) == ([0], [0.25])
    assert found.ignored.tolist() == [2]


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9])
@pytest.mark.parametrize("top", [1, 2, 4])
def test_loss_and_gradients_are_those_of_plain_words(top, share):
    head, rows = small_head(top=top), 7
    targets, ignored, weights = drawn_batch(rows, 12, share)
    features = torch.from_numpy(stream(1, "test-lightxml").standard_normal((rows, 5), dtype=np.float32))
    inputs = [features.clone().requires_grad_() for _ in range(2)]
    vectors = torch.from_numpy(head.ranker.weight.array.copy()).requires_grad_()

    loss = head(read(inputs[0]), batch_of(targets, ignored, weights))
    wanted = plain_loss(head, inputs[1], vectors, targets, ignored, weights)
    assert loss.item() == pytest.approx(wanted.item(), rel=1e-5)

    dense = [head.recall.weight, head.recall.bias, head.bottleneck.weight, head.bottleneck.bias]
    wanted_gradients = torch.autograd.grad(wanted, [inputs[1], vectors, *dense])
    loss.backward()
    touched, of_vectors = head.ranker.weight.take_gradient()
    whole = torch.zeros_like(vectors)
    whole[touched] = torch.from_numpy(of_vectors)
    gradients = [inputs[0].grad, whole, *(parameter.grad for parameter in dense)]
    for one, other in zip(gradients, wanted_gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-7)


def test_a_step_touches_the_rows_of_candidates_alone():
    head = small_head(top=1)
    targets, none = np.zeros((1, 12), dtype=np.float32), np.zeros((1, 12), dtype=bool)
    targets[0, 3] = 1
    head(read(torch.ones(1, 5)), batch_of(targets, none, np.ones(1))).backward()
    assert head.ranker.weight.take_gradient()[0].tolist() == [3, 7]


def test_a_batch_in_pieces_has_the_gradient_of_the_whole():
    targets, ignored, weights = drawn_batch(6, 12, 0.4)
    features = torch.from_numpy(stream(2, "test-lightxml").standard_normal((6, 5), dtype=np.float32))

    def gradients(pieces):
        head = small_head()
        total = np.zeros_like(head.ranker.weight.array)
        for rows in pieces:
            loss = head(read(features[rows]), batch_of(targets[rows], ignored[rows], weights[rows]))
            (loss * len(rows) / 6).backward()
            touched, gradient = head.ranker.weight.take_gradient()
            total[touched] += gradient
        return total, head.recall.weight.grad, head.bottleneck.weight.grad

    for one, other in zip(gradients([np.arange(6)]), gradients([[0], [1, 2, 3], [4, 5]]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-7)


def test_what_is_dropped_of_the_feature_comes_from_the_stream_of_the_batch():
    head = small_head()
    network = TokenNetwork(torch.nn.Identity(), head, drop=0.5)
    targets, ignored, weights = drawn_batch(7, 12, 0.3)

    def loss(seed):
        with drawing_from(stream(seed, "drop")):
            value = network(read(torch.ones(7, 5)), batch_of(targets, ignored, weights)).item()
        head.ranker.weight.take_gradient()
        return value

    assert loss(0) == loss(0) != loss(1)
    network.eval()
    assert loss(0) == loss(1) == head(read(torch.ones(7, 5)), batch_of(targets, ignored, weights)).item()


def by_hand(top: int, kept: int = 9) -> GroupedHead:
    """One feature x. Groups 0 and 1 have log-odds 2x and x, group 2 has -x; labels 0, 1 | 2, 3 | 4, 5."""
    settings = LightXmlSettings(top_groups=top, hidden=2, kept=kept)
    head = GroupedHead(
        LabelGroups(np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)), 1, settings, seed=0, name="lightxml"
    )
    weights = {
        "recall.weight": [[2.0], [1.0], [-1.0]],
        "recall.bias": [0.0] * 3,
        "bottleneck.weight": [[1.0], [0.0]],  # hidden: (x, 1)
        "bottleneck.bias": [0.0, 1.0],
        "ranker.weight.weight": [[0.0, -1.0], [0.0, 3.0], [0.0, 1.0], [0.0, 1.0], [0.0, 9.0], [0.0, 9.0]],
    }
    head.load_state_dict({name: torch.tensor(values) for name, values in weights.items()})
    return head.eval()


def test_scores_are_the_probability_of_the_label_times_that_of_its_group():
    found = by_hand(top=2).top_k(read(torch.tensor([[1.0], [-1.0]])), 5)
    probabilities = {
        0: expit(-1) * expit(2),
        1: expit(3) * expit(2),
        2: expit(1) * expit(1),
        3: expit(1) * expit(1),
    }
    order = [1, 2, 3, 0]  # 2 and 3 are equal: by smaller label; labels of group 2 are not looked at
    assert found.ids[0].tolist() == [*order, -1]
    np.testing.assert_allclose(
        found.scores[0, :4], logit([probabilities[label] for label in order]), rtol=1e-5
    )
    assert found.scores[0, 4] == -np.inf
    assert found.ids[1].tolist() == [4, 5, 2, 3, -1]
    np.testing.assert_allclose(expit(found.scores[1, 0]), expit(9) * expit(1), rtol=1e-5)


def test_no_more_labels_are_answered_than_are_kept():
    found = by_hand(top=3, kept=2).top_k(read(torch.ones(1, 1)), 4)
    assert found.ids.tolist() == [[1, 2, -1, -1]]


@given(st.floats(-700, 700), st.floats(-700, 700))
def test_log_odds_of_both_are_finite_and_below_those_of_each(one, other):
    found = both_log_odds(np.array([one]), np.array([other]))[0]
    assert np.isfinite(found)
    assert found <= min(one, other) + 1e-9


@given(st.floats(-15, 15), st.floats(-15, 15))
def test_log_odds_of_both_are_those_of_the_product_of_probabilities(one, other):
    probability = expit(both_log_odds(np.array([one]), np.array([other]))[0])
    assert probability == pytest.approx(expit(one) * expit(other), rel=1e-9)
