"""TailMix: which labels are drawn, which partners are taken, what is learnt of both."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse

from tailwright.augmentation import augmenter
from tailwright.augmentation.shared.label_mixing import DrawnLabels, LabelMixing, LabelMixup, drawn_targets
from tailwright.augmentation.shared.mixup import drawn_shares
from tailwright.augmentation.tailmix import TailMixSettings
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.batch_targets import BatchTargets
from tailwright.encoders.encoded import Encoded
from tailwright.heads.shared_mlp import SharedMlpHead
from tailwright.labels.proximity import label_proximity_graph

sys.path.insert(0, str(Path(__file__).parent))
from test_mixups import batch_of

LABELS, WIDTH = 8, 5
INVERSE = np.linspace(1.3, 4, LABELS)


class Contexts:
    """Fixed context vectors, and the pairs that were asked for."""

    def __init__(self, rows: int, labels: int = LABELS, candidates: np.ndarray | None = None) -> None:
        self.vectors = torch.from_numpy(np.random.default_rng(1).normal(size=(rows, labels, WIDTH))).float()
        self.vectors.requires_grad_()
        self.candidates = candidates
        self.asked: set[tuple[int, int]] = set()

    def __call__(self, rows: np.ndarray, labels: np.ndarray) -> torch.Tensor:
        self.asked |= set(zip(rows.tolist(), labels.tolist(), strict=True))
        return self.vectors[rows, labels]


def mixing_of(
    targets: BatchTargets, drawn: list[list[int]], *, share: float = 0.75, graph=None, **settings
) -> LabelMixing:
    """The mixing of a batch whose target labels are given; -1 for none."""
    labels = np.array(drawn, dtype=np.int64)
    values = np.zeros(labels.shape, dtype=np.float32)
    for row, place in zip(*np.nonzero(labels >= 0), strict=True):
        of_row = slice(targets.starts[row], targets.starts[row + 1])
        at = targets.labels[of_row].tolist().index(labels[row, place])
        values[row, place] = targets.values[of_row][at]
    mixup = LabelMixup(TailMixSettings(**settings), graph, INVERSE)
    return LabelMixing(mixup, targets, DrawnLabels(labels, values), np.full(labels.shape, share), 7)


def graph_of(edges: list[tuple[int, int]]):
    rows = np.zeros((len(edges), LABELS))
    for row, pair in enumerate(edges):
        rows[row, list(pair)] = 1
    return label_proximity_graph(sparse.csr_array(rows))


def outcome(mixing: LabelMixing, contexts: Contexts) -> tuple[dict, dict]:
    """The new targets, and the new context vectors, by (row, label)."""
    replaced = mixing.replaced_pairs(contexts)
    pairs = list(zip(replaced.rows.tolist(), replaced.labels.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    count = len(replaced.contexts)
    return dict(zip(pairs, replaced.targets.tolist(), strict=True)), dict(
        zip(pairs[:count], replaced.contexts, strict=True)
    )


def test_labels_are_drawn_as_by_a_softmax_without_replacement():
    inverse = np.array([0.2, 1.0, 2.0, 0.5])
    targets = batch_of([{0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}])
    random, count = np.random.default_rng(0), 20_000
    found = Counter(tuple(drawn_targets(targets, inverse, 2, random).labels[0]) for _ in range(count))
    odds = np.exp(inverse)
    for first, second in itertools.permutations(range(4), 2):
        expected = odds[first] / odds.sum() * odds[second] / (odds.sum() - odds[first])
        assert found[first, second] / count == pytest.approx(expected, abs=4 * (expected / count) ** 0.5)
    even = Counter(
        int(drawn_targets(targets, inverse, 1, random, evenly=True).labels[0, 0]) for _ in range(4000)
    )
    assert min(even.values()) > 850


def test_no_row_has_more_targets_than_asked_for_or_than_it_has_labels():
    targets = batch_of([{0: 1.0, 1: 1.0, 2: 1.0}, {}, {4: 1.0}, {1: 0.3, 5: 0.6}], ignored=[(0, 2)])
    drawn = drawn_targets(targets, INVERSE, 2, np.random.default_rng(0))
    assert sorted(drawn.labels[0].tolist()) == [0, 1]  # 2 is ignored
    assert drawn.labels[1].tolist() == [-1, -1]
    assert drawn.labels[2].tolist() == [4, -1]
    assert drawn.labels[3].tolist() == [5, -1]  # 1 is not above the threshold
    assert drawn.values[3].tolist() == pytest.approx([0.6, 0])
    assert drawn_targets(targets, INVERSE, 0, np.random.default_rng(0)).labels.shape == (4, 0)


def test_the_partner_is_the_nearest_neighbour_in_the_graph():
    random = np.random.default_rng(3)
    rows = (random.random((30, LABELS)) < 0.25).astype(float)
    graph = label_proximity_graph(sparse.csr_array(rows))
    shared = rows.T @ rows
    targets = batch_of([dict.fromkeys(np.flatnonzero(row), 1.0) for row in rows])
    drawn = drawn_targets(targets, INVERSE, 3, random)
    contexts = Contexts(len(targets))
    mixup = LabelMixup(TailMixSettings(), graph, INVERSE)
    mixing = LabelMixing(mixup, targets, drawn, np.ones(drawn.labels.shape), 0)
    partners = mixing.partners(contexts)
    distances = mixing.compared(contexts)[1].min(axis=2)
    vectors = contexts.vectors.detach().numpy()
    for row, place in zip(*np.nonzero(drawn.labels >= 0), strict=True):
        label = drawn.labels[row, place]
        near = [other for other in range(LABELS) if other != label and shared[label, other]]
        if not near:
            assert partners[row, place] == -1
            continue
        apart = {other: np.linalg.norm(vectors[row, label] - vectors[row, other]) for other in near}
        assert partners[row, place] == min(apart, key=apart.get)
        assert distances[row, place] == pytest.approx(min(apart.values()), rel=1e-5)
    # Nothing but targets and their neighbours was made.
    allowed = {
        (row, other)
        for row in range(len(targets))
        for label in drawn.labels[row][drawn.labels[row] >= 0]
        for other in range(LABELS)
        if other == label or shared[label, other]
    }
    assert {pair for pair in contexts.asked if drawn.labels[pair[0]].max() >= 0} <= allowed | {
        (row, 0) for row in range(len(targets))
    }


def test_a_target_learns_its_share_and_its_partner_the_rest():
    contexts = Contexts(1)
    targets, vectors = outcome(mixing_of(batch_of([{3: 1.0}]), [[3]], graph=graph_of([(3, 5)])), contexts)
    assert targets == pytest.approx({(0, 3): 0.75, (0, 5): 0.25})
    assert set(vectors) == {(0, 3)}
    own = contexts.vectors[0]
    torch.testing.assert_close(vectors[0, 3], 0.75 * own[3] + 0.25 * own[5])
    vectors[0, 3].sum().backward()
    assert (contexts.vectors.grad[0, 3] == 0.75).all()  # both ends learn
    assert (contexts.vectors.grad[0, 5] == 0.25).all()


def test_soft_targets_scale_what_both_learn():
    mixing = mixing_of(batch_of([{3: 0.6}]), [[3]], graph=graph_of([(3, 5)]))
    assert outcome(mixing, Contexts(1))[0] == pytest.approx({(0, 3): 0.45, (0, 5): 0.15})


def test_conflicts_are_settled_as_documented():
    one_neighbour = graph_of([(1, 7), (2, 7)])
    gold = {1: 1.0, 2: 1.0, 7: 1.0}
    # Two targets, one partner: the later drawn decides. The partner is gold, and learns the rest.
    mixing = mixing_of(batch_of([gold]), [[1, 2]], graph=one_neighbour)
    shares = np.array([[0.9, 0.6]])
    later = LabelMixing(mixing.mixup, mixing.targets, mixing.drawn, shares, 7)
    targets, vectors = outcome(later, contexts := Contexts(1))
    assert targets == pytest.approx({(0, 1): 0.9, (0, 2): 0.6, (0, 7): 0.4})
    own = contexts.vectors[0]
    torch.testing.assert_close(
        vectors[0, 1], 0.9 * own[1] + 0.1 * own[7]
    )  # of the contexts before any mixing
    torch.testing.assert_close(vectors[0, 2], 0.6 * own[2] + 0.4 * own[7])
    # A target that is the partner of another learns its own share.
    targets, _ = outcome(mixing_of(batch_of([gold]), [[1, 7]], graph=graph_of([(1, 7)])), Contexts(1))
    assert targets == pytest.approx({(0, 1): 0.75, (0, 7): 0.75})


def test_ignored_pairs_are_neither_target_nor_partner():
    graph = graph_of([(3, 5), (3, 6)])
    for ignored, partner in ((5, 6), (6, 5)):
        mixing = mixing_of(batch_of([{3: 1.0}], ignored=[(0, ignored)]), [[3]], graph=graph)
        assert set(outcome(mixing, Contexts(1))[0]) == {(0, 3), (0, partner)}
    alone = mixing_of(batch_of([{3: 1.0}], ignored=[(0, 5), (0, 6)]), [[3]], graph=graph)
    assert outcome(alone, Contexts(1)) == ({}, {})


@pytest.mark.parametrize(
    ("rule", "partners"), [("any", {4, 5, 6}), ("gold-excluded", {5, 6}), ("gold-only", {4})]
)
def test_a_partner_may_may_not_or_must_be_gold(rule, partners):
    graph = graph_of([(3, 4), (3, 5), (3, 6)])
    found = set()
    for noise in range(40):
        mixing = mixing_of(batch_of([{3: 1.0, 4: 1.0}]), [[3]], graph=graph, partners=rule, similarity=False)
        mixing = LabelMixing(mixing.mixup, mixing.targets, mixing.drawn, mixing.shares, noise)
        found |= {label for _, label in outcome(mixing, Contexts(1))[0]} - {3}
    assert found == partners


def test_without_the_graph_any_label_may_be_the_partner():
    targets = batch_of([{3: 1.0}, {}])
    contexts = Contexts(2)
    nearest = mixing_of(targets, [[3], [-1]], proximity=False).partners(contexts)
    vectors = contexts.vectors.detach()
    apart = (vectors[0] - vectors[0, 3]).norm(dim=1)
    apart[3] = torch.inf
    assert nearest.tolist() == [[int(apart.argmin())], [-1]]
    drawn = set()
    for noise in range(200):
        mixing = mixing_of(targets, [[3], [-1]], proximity=False, similarity=False)
        mixing = LabelMixing(mixing.mixup, targets, mixing.drawn, mixing.shares, noise)
        drawn.add(int(mixing.partners(contexts)[0, 0]))
    assert drawn == set(range(LABELS)) - {3}


def test_ablations_are_switched_off_by_that_word():
    settings = augmenter("tailmix", {"similarity": "off", "proximity": "off"}).settings
    assert (settings.similarity, settings.proximity) == (False, False)


def test_partners_are_candidates_of_their_row():
    graph = graph_of([(3, 1), (3, 5), (3, 6)])
    candidates = np.array([[6, 3, -1]])
    for settings in ({"graph": graph}, {"proximity": False}):
        mixing = mixing_of(batch_of([{3: 1.0}]), [[3]], **settings)
        partners = mixing.partners(Contexts(1, candidates=candidates))
        assert partners.tolist() == [[6]]


def test_the_repository_scales_each_vector_by_its_share():
    contexts = Contexts(1)
    mixing = mixing_of(batch_of([{3: 1.0}]), [[3]], graph=graph_of([(3, 5)]), variant="repository")
    targets, vectors = outcome(mixing, contexts)
    assert targets == pytest.approx({(0, 3): 0.75, (0, 5): 0.25})
    torch.testing.assert_close(vectors[0, 3], 0.75 * contexts.vectors[0, 3])
    torch.testing.assert_close(vectors[0, 5], 0.25 * contexts.vectors[0, 5])


def head_and_batch() -> tuple[SharedMlpHead, Encoded, BatchTargets]:
    head = SharedMlpHead(LABELS, WIDTH, [4], seed=0, name="head")
    states = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 3, WIDTH))).float()
    targets = batch_of([{3: 1.0, 1: 1.0}, {2: 1.0}], weights=[1, 0.5])
    return head, Encoded(states, torch.ones(2, 3, dtype=torch.bool)), targets


def test_a_share_of_one_is_the_plain_loss_but_that_the_partner_becomes_a_negative():
    head, encoded, targets = head_and_batch()
    mixing = mixing_of(targets, [[3], [-1]], share=1.0, graph=graph_of([(3, 1)]))
    mixed = head(encoded, targets, mixing=mixing)
    without = batch_of([{3: 1.0}, {2: 1.0}], weights=[1, 0.5])
    torch.testing.assert_close(mixed, head(encoded, without))
    no_gold = mixing_of(targets, [[3], [-1]], share=1.0, graph=graph_of([(3, 5)]))
    torch.testing.assert_close(head(encoded, targets, mixing=no_gold), head(encoded, targets))


def test_the_loss_is_that_of_all_contexts_with_the_mixed_ones_in_their_places():
    head, encoded, targets = head_and_batch()
    graph = graph_of([(3, 1), (3, 5), (2, 6), (2, 7)])
    mixing = mixing_of(targets, [[3], [2]], share=0.8, graph=graph)
    loss = head(encoded, targets, mixing=mixing)
    attention = torch.softmax(encoded.states @ head.attention.T, dim=1)  # (rows, tokens, labels)
    contexts = attention.transpose(1, 2) @ encoded.states  # (rows, labels, width)
    dense = np.zeros((2, LABELS), dtype=np.float32)
    dense[targets.rows, targets.labels] = targets.values
    mixed = contexts.clone()
    for row, label, near in ((0, 3, (1, 5)), (1, 2, (6, 7))):
        apart = (contexts[row] - contexts[row, label]).norm(dim=1).tolist()
        partner = min(near, key=apart.__getitem__)
        mixed[row, label] = 0.8 * contexts[row, label] + 0.2 * contexts[row, partner]
        dense[row, partner], dense[row, label] = 0.2, 0.8
    logits = head.logits_of_contexts(mixed, [])
    each = torch.nn.functional.binary_cross_entropy_with_logits(
        logits, torch.from_numpy(dense), torch.tensor([[1.0], [0.5]]), reduction="sum"
    )
    torch.testing.assert_close(loss, each / (2 * LABELS))


def test_statistics_are_of_original_rows_and_shares_are_large():
    method = augmenter("tailmix")
    mixup = method.prepare(tiny_corpus(), points=("pairs",))
    assert method.start(30) == 15
    assert method.start(30, restart=20) == 20
    shares = drawn_shares(mixup.settings, np.random.default_rng(0), (500,))
    assert shares.min() >= 0.5
    counts = tiny_corpus().labels.counts
    order = np.argsort(counts)
    assert (np.diff(mixup.inverse_propensity[order]) <= 0).all()
