"""Every head in blocks of labels equals its plain form: scores, losses, gradients, rankings."""

from __future__ import annotations

import numpy as np
import plain_heads
import pytest
import torch
from plain_heads import (
    CASES,
    LABELS,
    LISTS,
    ROWS,
    SHARED,
    assert_same_loss,
    gradients,
    places_of,
    some_targets,
)

from tailwright.data.batch_targets import BatchTargets
from tailwright.encoders.encoded import Encoded
from tailwright.evaluation.ranking import top_k_of_scores

pytestmark = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@pytest.fixture(params=["one block", "several blocks"], autouse=True)
def _blocks(request, monkeypatch):
    if request.param == "several blocks":
        plain_heads.several_blocks(monkeypatch)


def without_pairs(rows: int) -> BatchTargets:
    none, starts = np.zeros(0, dtype=np.int32), np.zeros(rows + 1, dtype=np.int64)
    values, weights = np.zeros(0, dtype=np.float32), np.ones(rows, dtype=np.float32)
    return BatchTargets(starts, none, values, starts, none, weights)


def test_logits_equal_the_plain_form(case):
    case = case()
    torch.testing.assert_close(case.logits(), case.plain(*case.tensors))


@pytest.mark.parametrize("mean", ["pairs", "rows"])
def test_loss_and_gradients_equal_a_dense_cross_entropy(case, mean):
    case, targets = case().leaves(), some_targets()
    divisor = ROWS * LABELS if mean == "pairs" else ROWS
    plain = targets.mean_loss(case.plain(*case.tensors), divisor)
    assert_same_loss(case.loss(targets.sparse(), mean=mean), plain, case.tensors)


def test_float32_is_within_a_hundred_thousandth_of_the_plain_form(case):
    case, targets = case(torch.float32).leaves(), some_targets()
    plain = targets.mean_loss(case.plain(*case.tensors), ROWS)
    assert_same_loss(case.loss(targets.sparse(), mean="rows"), plain, case.tensors, 1e-5)


def test_the_derivative_of_the_loss_is_that_of_its_differences(case):
    case, targets = case().leaves(), some_targets().sparse()

    def loss(*tensors):
        return case.of(tensors).loss(targets, mean="rows")

    assert torch.autograd.gradcheck(loss, case.tensors, fast_mode=True)


def test_a_shared_block_of_labels_is_a_slice_of_all(case):
    case, targets = case().leaves(), some_targets()
    every = case.plain(*case.tensors)
    torch.testing.assert_close(case.logits(candidates=SHARED), every[:, SHARED].detach())
    plain = targets.mean_loss(every, ROWS * len(SHARED), places_of(SHARED))
    assert_same_loss(case.loss(targets.sparse(), candidates=SHARED), plain, case.tensors)


@pytest.mark.parametrize("mean", ["pairs", "rows"])
def test_lists_of_each_row_are_slices_of_all(case, mean):
    case, targets = case().leaves(), some_targets()
    every, lists = case.plain(*case.tensors), torch.from_numpy(LISTS)
    expected = every.detach().gather(1, lists.clamp(min=0)).masked_fill(lists < 0, -torch.inf)
    torch.testing.assert_close(case.logits(candidates=LISTS), expected)
    divisor = int((LISTS >= 0).sum()) if mean == "pairs" else ROWS
    plain = targets.mean_loss(every, divisor, places_of(LISTS))
    assert_same_loss(case.loss(targets.sparse(), candidates=LISTS, mean=mean), plain, case.tensors)


def test_wide_lists_of_all_labels_equal_all_labels(case):
    """Wide enough to be several blocks of a list."""
    case, targets = case().leaves(), some_targets().sparse()
    order = np.stack([np.roll(np.arange(LABELS), row) for row in range(ROWS)])
    assert_same_loss(case.loss(targets, candidates=order), case.loss(targets), case.tensors)


def test_an_ignored_pair_has_exactly_no_part_in_the_loss(case):
    """Not even where it is a positive: the loss is that of the batch without its target."""
    case, targets = case(), some_targets()
    bare = plain_heads.DenseTargets(
        np.where(targets.ignored, 0, targets.targets).astype(np.float32), targets.ignored, targets.weights
    )
    assert (bare.targets != targets.targets).any()
    assert float(case.loss(bare.sparse())) == float(case.loss(targets.sparse()))


def test_a_row_of_weight_zero_gets_no_gradient(case):
    case, targets = case().leaves(), some_targets()
    (first,) = gradients(case.loss(targets.sparse()), case.tensors[:1])
    asleep = torch.from_numpy(targets.weights == 0)
    assert bool((first[asleep] == 0).all())
    assert bool((first[~asleep] != 0).any())


def test_permuted_labels_have_permuted_logits(case):
    """Only what belongs to labels moves along; layers that all labels share stay."""
    case = case()
    order = torch.arange(LABELS).flip(0).roll(5)
    moved = case.of([t[order] if len(t) == LABELS else t for t in case.tensors])
    torch.testing.assert_close(moved.logits(), case.logits()[:, order])


@pytest.mark.parametrize("k", [1, 20, 50])
def test_the_ranking_is_that_of_all_logits_and_ties_go_by_smaller_label(case, k):
    case = case(torch.float32)
    tied = torch.arange(LABELS) % 20  # labels 20 apart are the same, in other blocks
    head = case.of([t[tied] if len(t) == LABELS else t for t in case.tensors]).head()
    top_k = head.top_k(case.encoded(), k)
    expected = top_k_of_scores(head.logits(case.encoded()).numpy(), k)
    np.testing.assert_array_equal(top_k.ids, expected.ids)
    np.testing.assert_array_equal(top_k.scores, expected.scores)


def test_gradients_are_made_for_what_is_trained_alone(case):
    case, targets = case(), some_targets().sparse()
    every = case.leaves()
    expected = gradients(every.loss(targets), every.tensors)
    for place in range(len(case.tensors)):
        tensors = [t.clone().requires_grad_(i == place) for i, t in enumerate(case.tensors)]
        (gradient,) = gradients(case.of(tensors).loss(targets), [tensors[place]])
        torch.testing.assert_close(gradient, expected[place])


def test_gradients_reach_the_parameters_of_the_module(case):
    case, targets = case(), some_targets().sparse()
    leaves, head = case.leaves(), case.head()
    expected = gradients(leaves.loss(targets), leaves.tensors[1:])
    head(case.encoded(), targets).backward()
    assert sorted(head.state_dict()) == sorted(case.names)
    for name, gradient in zip(case.names, expected, strict=True):
        assert torch.equal(head.get_parameter(name).grad, gradient)


def test_without_a_graph_the_loss_is_the_same(case):
    case, targets = case().leaves(), some_targets().sparse()
    with torch.no_grad():
        loss = case.loss(targets)
    assert not loss.requires_grad
    assert torch.equal(loss, case.loss(targets).detach())


def test_the_gradient_is_that_of_the_loss_times_a_factor(case):
    case, targets = case().leaves(), some_targets().sparse()
    once, thrice = case.loss(targets), 3 * case.loss(targets)
    for a, b in zip(gradients(once, case.tensors), gradients(thrice, case.tensors), strict=True):
        torch.testing.assert_close(3 * a, b)


def test_huge_logits_give_a_finite_loss(case):
    case, targets = case(torch.float32), some_targets()
    tensors = [case.tensors[0], *(1e4 * tensor for tensor in case.tensors[1:])]
    case = case.of(tensors).leaves()
    loss = case.loss(targets.sparse())
    assert bool(torch.isfinite(loss))
    assert all(bool(torch.isfinite(gradient).all()) for gradient in gradients(loss, case.tensors))


def test_half_precision_gradients_do_not_vanish(case):
    """Of 185 pairs, each of a gradient below 1: what is divided are sums in float32."""
    case, targets = case(torch.float32).leaves(), some_targets().sparse()
    expected = gradients(case.loss(targets), case.tensors)
    first = case.tensors[0].detach().half().requires_grad_()
    rough = case.of([first, *case.tensors[1:]])
    scaled = gradients(65536 * rough.loss(targets), rough.tensors)  # as a scaler does
    assert scaled[0].dtype == torch.float16
    for a, b in zip(scaled, expected, strict=True):
        torch.testing.assert_close(a.float() / 65536, b, rtol=0.05, atol=2e-3 * float(b.abs().max()))


def test_no_texts_and_no_labels_lose_nothing(case):
    case = case()
    nobody = Encoded(case.tensors[0][:0], None if case.mask is None else case.mask[:0])
    assert float(case.head()(nobody, without_pairs(0)).detach()) == 0
    assert case.head().top_k(nobody, 3).ids.shape == (0, 3)
    bare = case.of([t[:0] if len(t) == LABELS else t for t in case.tensors])
    assert float(bare.loss(without_pairs(ROWS))) == 0
    assert bare.logits().shape == (ROWS, 0)
    assert (bare.head().top_k(case.encoded(), 3).ids == -1).all()


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (np.array([0.5]), "candidates must be int64"),
        (np.array([0, 37]), r"candidates must be in 0\.\.36"),
        (np.array([0, -1]), r"candidates must be in 0\.\.36"),
        (np.array([[0, 1]]), "candidates has 1 rows, expected 5"),
        (np.array([[0, -1, 0]] * 5), "candidates names a label twice"),
    ],
)
def test_wrong_candidates_are_refused(case, candidates, message):
    with pytest.raises(ValueError, match=message):
        case().loss(some_targets().sparse(), candidates=candidates)


def test_wrong_targets_and_means_are_refused(case):
    case = case()
    with pytest.raises(ValueError, match="5 texts and the targets of 2"):
        case.loss(some_targets(rows=2).sparse())
    with pytest.raises(ValueError, match=r"labels of targets must be in 0\.\.36"):
        case.loss(some_targets(labels=60).sparse())
    with pytest.raises(ValueError, match="mean must be one of pairs, rows, got 'all'"):
        case.loss(some_targets().sparse(), mean="all")
