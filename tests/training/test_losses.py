"""Both losses equal their dense textbook form, in value and in gradient."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tailwright.training.losses import BlockPairs, binary_cross_entropy, decoupled_softmax

ROWS, BLOCK = 4, 7


@st.composite
def blocks(draw):
    """Scores, soft targets (0: none), ignored pairs and row weights of one batch."""
    random = np.random.Generator(np.random.Philox(key=draw(st.integers(0, 2**32))))
    scores = random.normal(0, 4, (ROWS, BLOCK))
    targets = np.where(random.random((ROWS, BLOCK)) < draw(st.sampled_from([0, 0.3, 1])), 1.0, 0.0)
    targets *= random.choice([1.0, 0.7, 0.25], (ROWS, BLOCK))
    ignored = random.random((ROWS, BLOCK)) < draw(st.sampled_from([0, 0.2, 1]))
    weights = random.choice([0.0, 0.5, 1.0, 3.0], ROWS)
    return scores, targets, ignored, weights


def pairs(matrix):
    rows, columns = np.nonzero(matrix)
    return BlockPairs.of(rows, columns, matrix[rows, columns])


def ours(loss, scores, targets, ignored, weights):
    leaf = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
    positives, skipped = pairs(targets), pairs(ignored)
    positives = BlockPairs(positives.rows, positives.columns, positives.values.double())
    value = loss(leaf, positives, skipped, torch.tensor(weights, dtype=torch.float64))
    value.backward()
    return value.item(), leaf.grad.numpy()


def dense_bce(scores, targets, ignored, weights):
    counted = torch.tensor(weights)[:, None] * torch.tensor(~ignored)
    targets = torch.tensor(targets.astype(np.float32).astype(np.float64))
    each = torch.nn.functional.binary_cross_entropy_with_logits(scores, targets, reduction="none")
    return (each * counted).sum() / ROWS


def dense_softmax(scores, targets, ignored, weights):
    """Pair by pair, with a denominator of the positive itself and of the row's unmasked negatives."""
    total = scores.sum() * 0
    for i, j in zip(*np.nonzero((targets > 0) & ~ignored), strict=True):
        others = [c for c in range(BLOCK) if c == j or (targets[i, c] == 0 and not ignored[i, c])]
        chance = torch.softmax(scores[i, others], 0)[others.index(j)]
        total = total - weights[i] * float(np.float32(targets[i, j])) * torch.log(chance)
    return total / ROWS


@pytest.mark.parametrize(
    ("loss", "dense"), [(binary_cross_entropy, dense_bce), (decoupled_softmax, dense_softmax)]
)
@given(blocks())
def test_value_and_gradient_equal_the_dense_form(loss, dense, block):
    value, gradient = ours(loss, *block)
    leaf = torch.tensor(block[0], requires_grad=True)
    expected = dense(leaf, *block[1:])
    expected.backward()
    assert value == pytest.approx(expected.item(), rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(gradient, leaf.grad.numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", [binary_cross_entropy, decoupled_softmax])
@given(blocks())
def test_an_ignored_pair_has_exactly_no_gradient(loss, block):
    _, gradient = ours(loss, *block)
    assert (gradient[block[2]] == 0).all()
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("loss", [binary_cross_entropy, decoupled_softmax])
def test_softer_targets_pull_less_and_heavier_rows_more(loss):
    scores, ignored = np.zeros((ROWS, BLOCK)), np.zeros((ROWS, BLOCK), dtype=bool)
    targets = np.zeros((ROWS, BLOCK))
    targets[:, 0] = [1.0, 0.6, 1.0, 1.0]
    _, gradient = ours(loss, scores, targets, ignored, np.array([1.0, 1.0, 2.0, 0.0]))
    pull = -gradient[:, 0]
    assert pull[0] > pull[1] > 0
    assert pull[2] == pytest.approx(2 * pull[0])
    assert (gradient[3] == 0).all()


def test_a_discount_counts_for_negatives_alone():
    scores = torch.tensor([[1.0, 2.0, 0.5]])
    positive, none = BlockPairs.of([0], [0], [1.0]), BlockPairs.of([], [], [])
    discount = torch.tensor([-3.0, -1.0, -2.0])
    value = decoupled_softmax(scores, positive, none, torch.ones(1), discount)
    expected = np.log(np.exp(1) + np.exp(3) + np.exp(2.5)) - 1
    assert value.item() == pytest.approx(expected, rel=1e-6)


def test_a_batch_without_rows_or_positives_is_no_loss():
    none = BlockPairs.of(np.array([]), np.array([]), np.array([]))
    for shape in ((0, 3), (2, 3), (2, 0)):
        value = decoupled_softmax(torch.zeros(shape), none, none, torch.ones(shape[0]))
        assert value.item() == 0
