"""The mix points of heads: mixed activations and replaced pairs equal the plain form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plain_heads
import pytest
import torch
from plain_heads import (
    ATTENDED,
    CASES,
    LABELS,
    LISTS,
    ROWS,
    SHARED,
    WIDTH,
    ToyMixing,
    assert_same_loss,
    drawn,
    gradients,
    padded_mask,
    places_of,
    some_targets,
)

from tailwright.encoders.encoded import Encoded
from tailwright.encoders.mixing import ReplacedPairs
from tailwright.heads.shared_mlp import SharedMlpHead

POINTS = [(name, point) for name, case in CASES.items() for point in case().head().mix_points]
BLOCK_POINTS = [pair for pair in POINTS if pair[1] != "pairs"]
CANDIDATES = {"all": None, "shared": SHARED, "lists": LISTS}


@pytest.fixture(params=["one block", "several blocks"], autouse=True)
def _blocks(request, monkeypatch):
    if request.param == "several blocks":
        plain_heads.several_blocks(monkeypatch)


def rolled(activations: torch.Tensor) -> torch.Tensor:
    """Each row with the next one, by a share of its own: a row may keep all, or give all."""
    shares = torch.tensor([0.7, 1, 0.1, 0, 0.4], dtype=activations.dtype)[:, None, None]
    return shares * activations + (1 - shares) * activations.roll(1, 0)


def divisor_of(candidates: np.ndarray | None) -> int:
    if candidates is None:
        return ROWS * LABELS
    return ROWS * len(candidates) if candidates.ndim == 1 else int((candidates >= 0).sum())


def places(candidates: np.ndarray | None) -> torch.Tensor | None:
    return None if candidates is None else places_of(candidates)


def test_each_head_names_its_points():
    points = {name: case().head().mix_points for name, case in CASES.items()}
    assert points == {
        "label-specific": ("contexts", "pairs"),
        "shared-mlp": ("contexts", "hidden", "pairs"),
        "dense": (),
        "dense-without-bias": (),
    }


@pytest.mark.parametrize("candidates", [None, SHARED], ids=["all", "shared"])
@pytest.mark.parametrize(("name", "point"), BLOCK_POINTS)
def test_mixed_activations_equal_the_plain_form(name, point, candidates):
    case, targets = CASES[name]().leaves(), some_targets()
    loss = case.loss(targets.sparse(), candidates=candidates, mixing=ToyMixing(point, rolled))
    logits = case.plain(*case.tensors, **{point: rolled})
    assert not torch.allclose(logits, case.plain(*case.tensors))
    plain = targets.mean_loss(logits, divisor_of(candidates), places(candidates))
    assert_same_loss(loss, plain, case.tensors)
    with torch.no_grad():
        again = case.loss(targets.sparse(), candidates=candidates, mixing=ToyMixing(point, rolled))
    assert torch.equal(again, loss.detach())


@pytest.mark.parametrize(("name", "point"), BLOCK_POINTS)
def test_the_derivative_of_a_mixed_loss_is_that_of_its_differences(name, point):
    case, targets = CASES[name]().leaves(), some_targets().sparse()

    def loss(*tensors):
        return case.of(tensors).loss(targets, mean="rows", mixing=ToyMixing(point, rolled))

    assert torch.autograd.gradcheck(loss, case.tensors, fast_mode=True)


@pytest.mark.parametrize(("name", "point"), BLOCK_POINTS)
def test_a_block_that_is_left_as_it_is_takes_no_gradient_of_another(name, point):
    """Only the first block is mixed, and the gradient of layers or biases alone is asked for."""
    case, targets = CASES[name](), some_targets()
    case = case.of([*case.tensors[:-1], case.tensors[-1].clone().requires_grad_()])
    first: list[int] = []

    def mix(activations):
        first.append(activations.shape[1])
        return rolled(activations) if len(first) == 1 else activations

    def plain_mix(activations):
        return torch.cat([rolled(activations[:, : first[0]]), activations[:, first[0] :]], 1)

    loss = case.loss(targets.sparse(), mixing=ToyMixing(point, mix))
    plain = targets.mean_loss(case.plain(*case.tensors, **{point: plain_mix}), ROWS * LABELS)
    assert_same_loss(loss, plain, case.tensors[-1:])
    case, _ = case.leaves(), first.clear()
    loss = case.loss(targets.sparse(), mixing=ToyMixing(point, mix))
    plain = targets.mean_loss(case.plain(*case.tensors, **{point: plain_mix}), ROWS * LABELS)
    assert_same_loss(loss, plain, case.tensors)


@pytest.mark.parametrize("candidates", CANDIDATES.values(), ids=CANDIDATES.keys())
@pytest.mark.parametrize(("name", "point"), POINTS)
@pytest.mark.parametrize("mean", ["pairs", "rows"])
def test_mixing_nothing_leaves_every_bit(name, point, candidates, mean):
    if candidates is LISTS and point != "pairs":
        return  # refused, see below
    case, targets = CASES[name](torch.float32).leaves(), some_targets().sparse()
    options = {"candidates": candidates, "mean": mean}
    plain, mixed = case.loss(targets, **options), case.loss(targets, **options, mixing=ToyMixing(point))
    assert torch.equal(plain, mixed)
    for a, b in zip(gradients(plain, case.tensors), gradients(mixed, case.tensors), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("point", ["embeddings", "layer-1", "output"])
def test_a_point_outside_of_the_head_is_not_the_heads(name, point):
    case, targets = CASES[name](), some_targets().sparse()
    mixed = case.loss(targets, mixing=ToyMixing(point, lambda activations: activations + 1))
    assert torch.equal(case.loss(targets), mixed)


@pytest.mark.parametrize(("name", "point"), BLOCK_POINTS)
def test_lists_of_each_row_cannot_be_mixed_by_column(name, point):
    message = f"mixing at '{point}' needs the same labels in every row"
    with pytest.raises(ValueError, match=message):
        CASES[name]().loss(some_targets().sparse(), candidates=LISTS, mixing=ToyMixing(point, rolled))


@pytest.mark.parametrize(("name", "point"), BLOCK_POINTS)
def test_mixed_activations_of_another_shape_are_refused(name, point):
    mixing = ToyMixing(point, lambda activations: activations[:2])
    with pytest.raises(ValueError, match=f"mixed activations at '{point}' must be"):
        CASES[name]().loss(some_targets().sparse(), mixing=mixing)


# Replaced pairs, the pairs that their contexts are mixed with, by which share, and their new targets.
# Among them are positives and others, ignored ones and ones outside of candidates, and a row of weight 0.
ROWS_REPLACED = np.array([0, 4, 1, 3, 0, 2, 3, 1, 4])
LABELS_REPLACED = np.array([3, 30, 8, 5, 36, 7, 36, 20, 0])
PARTNER_ROWS = np.array([1, 0, 1, 4, 3, 0, 3, 2, 1])
PARTNER_LABELS = np.array([3, 2, 9, 5, 36, 1, 0, 20, 14])
SHARES = np.array([0.5, 0.1, 1, 0, 0.3, 0.8, 0.5, 0.5, 0.9])
NEW_TARGETS = np.array([0.5, 0, 1, 0.25, 0.75, 1, 0.1, 0, 0.3], dtype=np.float32)


def mixed_contexts(contexts, kept: slice) -> torch.Tensor:
    """What `contexts(rows, labels)` gives of the replaced pairs and their partners, mixed."""
    first = contexts(ROWS_REPLACED[kept], LABELS_REPLACED[kept])
    shares = torch.from_numpy(SHARES[kept]).to(first.dtype)[:, None]
    return shares * first + (1 - shares) * contexts(PARTNER_ROWS[kept], PARTNER_LABELS[kept])


def pair_mixing(kept: slice = slice(None)) -> ToyMixing:
    def replaced(contexts) -> ReplacedPairs:
        mixed = mixed_contexts(contexts, kept)
        return ReplacedPairs(ROWS_REPLACED[kept], LABELS_REPLACED[kept], mixed, NEW_TARGETS[kept])

    return ToyMixing("pairs", replace_pairs=replaced)


def plain_pair_loss(case, candidates, kept: slice = slice(None)) -> torch.Tensor:
    """All contexts are made, some replaced, all scored."""
    targets, changed = some_targets(), some_targets().targets.copy()
    changed[ROWS_REPLACED[kept], LABELS_REPLACED[kept]] = NEW_TARGETS[kept]

    def put(contexts):
        mixed = mixed_contexts(lambda rows, labels: contexts[rows, labels], kept)
        where = torch.from_numpy(ROWS_REPLACED[kept]), torch.from_numpy(LABELS_REPLACED[kept])
        return contexts.index_put(where, mixed)

    logits = case.plain(*case.tensors, contexts=put)
    targets = replace(targets, targets=changed)
    return targets.mean_loss(logits, divisor_of(candidates), places(candidates))


@pytest.mark.parametrize("candidates", CANDIDATES.values(), ids=CANDIDATES.keys())
@pytest.mark.parametrize("name", ATTENDED)
def test_replaced_pairs_equal_the_plain_form(name, candidates):
    case, targets = CASES[name]().leaves(), some_targets().sparse()
    loss = case.loss(targets, candidates=candidates, mixing=pair_mixing())
    assert float(loss.detach()) != float(case.loss(targets, candidates=candidates).detach())
    assert_same_loss(loss, plain_pair_loss(case, candidates), case.tensors)


def test_the_replaced_pairs_of_these_tests_are_of_all_kinds():
    targets, listed = some_targets(), places_of(LISTS).numpy()[ROWS_REPLACED, LABELS_REPLACED]
    ignored = targets.ignored[ROWS_REPLACED, LABELS_REPLACED]
    positive = targets.targets[ROWS_REPLACED, LABELS_REPLACED] > 0
    asleep = targets.weights[ROWS_REPLACED] == 0
    for kind in (ignored, positive & ~ignored, ~positive, listed, asleep):
        assert kind.any()
        assert not kind.all()
    assert (listed & ~ignored).any()


@pytest.mark.parametrize("name", ATTENDED)
def test_replaced_pairs_that_give_no_loss_leave_every_bit(name):
    """Ignored ones, and ones that are no candidates of their row."""
    case, targets = CASES[name](torch.float32).leaves(), some_targets()
    kept = targets.ignored | ~places_of(LISTS).numpy()
    rows, labels = np.nonzero(kept)

    def replaced(contexts):
        values = np.ones(len(rows), dtype=np.float32)
        return ReplacedPairs(rows, labels, 100 + contexts(rows, labels), values)

    mixing = ToyMixing("pairs", replace_pairs=replaced)
    plain, mixed = (case.loss(targets.sparse(), candidates=LISTS, mixing=mixing) for mixing in (None, mixing))
    assert torch.equal(plain, mixed)
    for a, b in zip(gradients(plain, case.tensors), gradients(mixed, case.tensors), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("name", ATTENDED)
def test_contexts_replaced_by_themselves_leave_the_loss(name):
    case, targets = CASES[name]().leaves(), some_targets()
    rows, labels = (places.ravel() for places in np.indices((ROWS, LABELS)))

    def replaced(contexts):
        return ReplacedPairs(rows, labels, contexts(rows, labels), targets.targets[rows, labels])

    mixed = case.loss(targets.sparse(), mixing=ToyMixing("pairs", replace_pairs=replaced))
    assert_same_loss(mixed, case.loss(targets.sparse()), case.tensors)


def sparse_head() -> tuple[SharedMlpHead, Encoded]:
    head = SharedMlpHead(LABELS, WIDTH, [4, 3], seed=0, name="head", sparse=True)
    states = drawn(1, ROWS, plain_heads.TOKENS, WIDTH).float().requires_grad_()
    return head, Encoded(states, padded_mask())


@pytest.mark.parametrize("kept", [slice(None), slice(1), slice(0)], ids=["all pairs", "one", "none"])
@pytest.mark.parametrize("candidates", CANDIDATES.values(), ids=CANDIDATES.keys())
def test_replaced_pairs_of_a_sparse_head_equal_those_of_a_dense_one(candidates, kept):
    """But that labels that are no candidates in the batch are read, and not learnt."""
    head, encoded = sparse_head()
    dense = SharedMlpHead(LABELS, WIDTH, [4, 3], seed=0, name="head")
    targets, other = some_targets().sparse(), Encoded(encoded.states.detach().clone(), encoded.mask)
    other.states.requires_grad_()
    loss = head(encoded, targets, candidates=candidates, mixing=pair_mixing(kept))
    expected = dense(other, targets, candidates=candidates, mixing=pair_mixing(kept))
    torch.testing.assert_close(loss, expected)
    loss.backward()
    expected.backward()
    torch.testing.assert_close(encoded.states.grad, other.states.grad)
    labels, gradient = head.attention.take_gradient()
    np.testing.assert_allclose(gradient, dense.attention.grad.numpy()[labels], rtol=1e-5, atol=1e-7)
    named = np.arange(LABELS) if candidates is None else candidates[candidates >= 0]
    np.testing.assert_array_equal(labels, np.unique(named))
    for ours, theirs in zip(head.layers.parameters(), dense.layers.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)


def test_contexts_of_a_sparse_head_without_candidates_are_those_of_its_labels():
    head, encoded = sparse_head()
    expected = plain_heads.plain_contexts(encoded.states, encoded.mask, head.attention.weight)

    def replaced(contexts):
        rows, labels = np.array([4, 0]), np.array([36, 5])
        torch.testing.assert_close(contexts(rows, labels), expected[rows, labels])
        return ReplacedPairs(rows, labels, contexts(rows, labels), np.ones(2, dtype=np.float32))

    none = np.full((ROWS, 2), -1)
    mixing = ToyMixing("pairs", replace_pairs=replaced)
    loss = head(encoded, some_targets().sparse(), candidates=none, mixing=mixing)
    assert float(loss.detach()) == 0
