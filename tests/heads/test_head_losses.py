"""Every head in blocks of labels equals its plain form: scores, losses, gradients, rankings."""

from __future__ import annotations

import numpy as np
import plain_heads
import pytest
import torch
from plain_heads import CASES, LABELS, ROWS, some_targets
from tailwright.heads.batch_targets import BatchTargets

from tailwright.evaluation.ranking import top_k_of_scores

pytestmark = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())

# Of each row its own labels: unordered, of different lengths, one row with none.
LISTS = torch.tensor(
    [[3, 36, 0, 9, 11], [8, 2, -1, -1, -1], [-1, -1, -1, -1, -1], [1, 2, 3, 4, 5], [30, -1, 7, -1, 20]]
)
SHARED = torch.tensor([30, 2, 17, 4, 36, 0, 21, 22, 23, 24, 25, 8, 9, 10, 11, 12, 13, 14, 15])


@pytest.fixture(params=["one block", "several blocks"], autouse=True)
def _blocks(request, monkeypatch):
    if request.param == "several blocks":
        plain_heads.several_blocks(monkeypatch)


def gradients(loss, tensors):
    return torch.autograd.grad(loss, tensors)


def assert_same_loss(ours, plain, tensors, tolerance=1e-6):
    torch.testing.assert_close(ours, plain, rtol=tolerance, atol=tolerance)
    for found, expected in zip(gradients(ours, tensors), gradients(plain, tensors), strict=True):
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


def test_scores_equal_the_plain_form(case):
    case = case()
    torch.testing.assert_close(case.scores(), case.plain(*case.tensors))


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
        return case.make(*tensors[1:]).loss(*case.inputs(tensors[0]), targets, mean="rows")

    assert torch.autograd.gradcheck(loss, case.tensors, fast_mode=True)


def test_a_shared_block_of_labels_is_a_slice_of_all(case):
    case, targets = case().leaves(), some_targets()
    every = case.plain(*case.tensors)
    torch.testing.assert_close(case.scores(candidates=SHARED), every[:, SHARED].detach())
    places = torch.zeros(LABELS, dtype=torch.bool)
    places[SHARED] = True
    plain = targets.mean_loss(every, ROWS * len(SHARED), places)
    assert_same_loss(case.loss(targets.sparse(), candidates=SHARED), plain, case.tensors)


@pytest.mark.parametrize("mean", ["pairs", "rows"])
def test_lists_of_each_row_are_slices_of_all(case, mean):
    case, targets = case().leaves(), some_targets()
    every, real = case.plain(*case.tensors), LISTS >= 0
    expected = every.detach().gather(1, LISTS.clamp(min=0)).masked_fill(~real, -torch.inf)
    torch.testing.assert_close(case.scores(candidates=LISTS), expected)
    places = torch.zeros(ROWS, LABELS, dtype=torch.bool)
    rows = torch.arange(ROWS)[:, None].expand_as(LISTS)
    places[rows[real], LISTS[real]] = True
    plain = targets.mean_loss(every, int(real.sum()) if mean == "pairs" else ROWS, places)
    assert_same_loss(case.loss(targets.sparse(), candidates=LISTS, mean=mean), plain, case.tensors)


def test_wide_lists_of_all_labels_equal_all_labels(case):
    """Wide enough to be several blocks of a list."""
    case, targets = case().leaves(), some_targets().sparse()
    order = torch.stack([torch.arange(LABELS).roll(row) for row in range(ROWS)])
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


def test_permuted_labels_have_permuted_scores(case):
    """Only what belongs to labels moves along; layers that all labels share stay."""
    case = case()
    order = torch.arange(LABELS).flip(0).roll(5)
    own = [t[order] if len(t) == LABELS else t for t in case.tensors[1:]]
    moved = case.make(*own).scores(*case.inputs(case.tensors[0]))
    torch.testing.assert_close(moved, case.scores()[:, order])


@pytest.mark.parametrize("k", [1, 20, 50])
def test_the_ranking_is_that_of_all_scores_and_ties_go_by_smaller_label(case, k):
    case = case(torch.float32)
    tied = torch.arange(LABELS) % 20  # labels 20 apart are the same, in other blocks
    own = [t[tied] if len(t) == LABELS else t for t in case.tensors[1:]]
    head, inputs = case.make(*own), case.inputs(case.tensors[0])
    found, expected = head.top_k(*inputs, k), top_k_of_scores(head.scores(*inputs).numpy(), k)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_gradients_are_made_for_what_is_trained_alone(case):
    case, targets = case(), some_targets().sparse()
    every = case.leaves()
    expected = gradients(every.loss(targets), every.tensors)
    for place in range(len(case.tensors)):
        tensors = [t.clone().requires_grad_(i == place) for i, t in enumerate(case.tensors)]
        some = plain_heads.Case(case.make, tensors, case.plain, case.mask)
        (found,) = gradients(some.loss(targets), [tensors[place]])
        torch.testing.assert_close(found, expected[place])


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


def test_huge_scores_give_a_finite_loss(case):
    case, targets = case(torch.float32), some_targets()
    tensors = [case.tensors[0], *(1e4 * tensor for tensor in case.tensors[1:])]
    case = plain_heads.Case(case.make, tensors, case.plain, case.mask).leaves()
    loss = case.loss(targets.sparse())
    assert bool(torch.isfinite(loss))
    assert all(bool(torch.isfinite(found).all()) for found in gradients(loss, case.tensors))


def test_half_precision_gradients_do_not_vanish(case):
    """Of 185 pairs, each of a slope below 1: what is divided are sums in float32."""
    case, targets = case(torch.float32).leaves(), some_targets().sparse()
    expected = gradients(case.loss(targets), case.tensors)
    first = case.tensors[0].detach().half().requires_grad_()
    rough = plain_heads.Case(case.make, [first, *case.tensors[1:]], case.plain, case.mask)
    found = gradients(65536 * rough.loss(targets), rough.tensors)  # as a scaler does
    assert found[0].dtype == torch.float16
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a.float() / 65536, b, rtol=0.05, atol=2e-3 * float(b.abs().max()))


def test_no_texts_and_no_labels_lose_nothing(case):
    case = case()
    nothing = BatchTargets.of((np.zeros(1), np.zeros(0), np.zeros(0)))
    first = case.tensors[0][:0]
    inputs = (first,) if case.mask is None else (first, case.mask[:0])
    assert float(case.head().loss(*inputs, nothing)) == 0
    assert case.head().top_k(*inputs, 3).ids.shape == (0, 3)
    bare = case.make(*[t[:0] if len(t) == LABELS else t for t in case.tensors[1:]])
    unlabelled = BatchTargets.of((np.zeros(ROWS + 1), np.zeros(0), np.zeros(0)))
    assert float(bare.loss(*case.inputs(case.tensors[0]), unlabelled)) == 0
    assert (bare.top_k(*case.inputs(case.tensors[0]), 3).ids == -1).all()


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (torch.tensor([0.5]), "candidates must be int64"),
        (torch.tensor([0, 37]), r"candidates must be in 0\.\.36"),
        (torch.tensor([0, -1]), r"candidates must be in 0\.\.36"),
        (torch.tensor([[0, 1]]), "candidates has 1 rows, expected 5"),
        (torch.tensor([[0, -1, 0]] * 5), "candidates names a label twice"),
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
