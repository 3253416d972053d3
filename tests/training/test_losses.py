"""The decoupled softmax equals its dense textbook form, in value and in gradient."""

from __future__ import annotations

import numpy as np
import plain_losses
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from plain_losses import batch_targets, differentiable

from tailwright.training.losses import decoupled_softmax

ROWS, LABELS = 4, 7


@st.composite
def batches(draw):
    """Scores, soft targets (0: none), ignored pairs and row weights of one batch."""
    random = np.random.Generator(np.random.Philox(key=draw(st.integers(0, 2**32))))
    scores = random.normal(0, 4, (ROWS, LABELS))
    targets = np.where(random.random((ROWS, LABELS)) < draw(st.sampled_from([0, 0.3, 1])), 1.0, 0.0)
    targets *= random.choice([1.0, 0.7, 0.25], (ROWS, LABELS))
    ignored = random.random((ROWS, LABELS)) < draw(st.sampled_from([0, 0.2, 1]))
    weights = random.choice([0.0, 0.5, 1.0, 3.0], ROWS)
    return scores, targets, ignored, weights


def learnt(loss, scores, targets, ignored, weights):
    """Value and gradient, in double precision."""
    leaf = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
    value = loss(leaf, batch_targets(targets, ignored, weights))
    value.backward()
    return value.item(), leaf.grad.numpy()


@given(batches())
def test_value_and_gradient_equal_the_dense_form(batch):
    value, gradient = learnt(differentiable, *batch)
    expected, expected_gradient = learnt(plain_losses.decoupled_softmax, *batch)
    assert value == pytest.approx(expected, rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-6, atol=1e-6)


@given(batches())
def test_an_ignored_pair_has_exactly_no_gradient(batch):
    _, gradient = learnt(differentiable, *batch)
    assert (gradient[batch[2]] == 0).all()
    assert np.isfinite(gradient).all()


def test_softer_targets_have_smaller_gradients_and_heavier_rows_larger_ones():
    scores, ignored = np.zeros((ROWS, LABELS)), np.zeros((ROWS, LABELS), dtype=bool)
    targets = np.zeros((ROWS, LABELS))
    targets[:, 0] = [1.0, 0.6, 1.0, 1.0]
    _, gradient = learnt(differentiable, scores, targets, ignored, np.array([1.0, 1.0, 2.0, 0.0]))
    downhill = -gradient[:, 0]
    assert downhill[0] > downhill[1] > 0
    assert downhill[2] == pytest.approx(2 * downhill[0])
    assert (gradient[3] == 0).all()


def test_a_discount_counts_for_negatives_alone():
    scores = np.array([[1.0, 2.0, 0.5]])
    targets = batch_targets(np.array([[1.0, 0, 0]]), np.zeros((1, 3)), np.ones(1))
    value, _ = decoupled_softmax(scores, targets, np.array([-3.0, -1.0, -2.0]))
    expected = np.log(np.exp(1) + np.exp(3) + np.exp(2.5)) - 1
    assert value == pytest.approx(expected, rel=1e-6)


def test_a_batch_without_rows_or_positives_is_no_loss():
    for shape in ((0, 3), (2, 3), (2, 0)):
        none = np.zeros(shape)
        value, gradient = decoupled_softmax(none.copy(), batch_targets(none, none, np.ones(shape[0])))
        assert value == 0
        assert gradient.shape == shape
        assert not gradient.any()
