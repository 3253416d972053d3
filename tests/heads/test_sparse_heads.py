"""A sparse head over the candidates of a batch equals the same head that has all labels at hand."""

from __future__ import annotations

import numpy as np
import plain_heads
import pytest
import torch
from plain_heads import LABELS, LISTS, ROWS, SHARED, WIDTH, drawn, padded_mask, some_targets

from tailwright.encoders.encoded import Encoded
from tailwright.encoders.row_table import RowTable
from tailwright.heads.dense import DenseHead
from tailwright.heads.shared_mlp import SharedMlpHead

HEADS = {
    "shared-mlp": lambda sparse: SharedMlpHead(LABELS, WIDTH, [4, 3], seed=0, name="head", sparse=sparse),
    "dense": lambda sparse: DenseHead(LABELS, WIDTH, seed=0, name="head", sparse=sparse),
    "dense-without-bias": lambda sparse: DenseHead(
        LABELS, WIDTH, seed=0, name="head", start="xavier", bias=False, sparse=sparse
    ),
}
CANDIDATES = {"all": None, "shared": SHARED, "lists": LISTS, "none": np.full((ROWS, 2), -1)}

pytestmark = pytest.mark.parametrize("new", HEADS.values(), ids=HEADS.keys())


@pytest.fixture(params=["one block", "several blocks"], autouse=True)
def _blocks(request, monkeypatch):
    if request.param == "several blocks":
        plain_heads.several_blocks(monkeypatch)


def encoded(new) -> Encoded:
    if isinstance(new(False), DenseHead):
        return Encoded(drawn(1, ROWS, WIDTH).float().requires_grad_(), None)
    states = drawn(1, ROWS, plain_heads.TOKENS, WIDTH).float()
    return Encoded(states.requires_grad_(), padded_mask())


def table_of(head) -> RowTable:
    return next(module for module in head.modules() if isinstance(module, RowTable))


@pytest.mark.parametrize("mean", ["pairs", "rows"])
@pytest.mark.parametrize("candidates", CANDIDATES.values(), ids=CANDIDATES.keys())
def test_loss_and_gradients_equal_those_of_a_dense_head(new, candidates, mean):
    dense, sparse, targets = new(False), new(True), some_targets().sparse()
    ours, theirs = encoded(new), encoded(new)
    loss = sparse(ours, targets, candidates=candidates, mean=mean)
    expected = dense(theirs, targets, candidates=candidates, mean=mean)
    torch.testing.assert_close(loss, expected)
    loss.backward()
    expected.backward()
    torch.testing.assert_close(ours.states.grad, theirs.states.grad)
    labels, gradient = table_of(sparse).take_gradient()
    candidates = np.arange(LABELS) if candidates is None else candidates
    np.testing.assert_array_equal(labels, np.unique(candidates[candidates >= 0]))
    vectors, *others = dense.named_parameters()
    whole = np.zeros((LABELS, WIDTH), dtype=np.float32)
    whole[labels] = gradient
    np.testing.assert_allclose(whole, vectors[1].grad.numpy(), rtol=1e-5, atol=1e-7)
    for name, parameter in others:
        torch.testing.assert_close(sparse.get_parameter(name).grad, parameter.grad)


@pytest.mark.parametrize("candidates", CANDIDATES.values(), ids=CANDIDATES.keys())
def test_logits_equal_those_of_a_dense_head_and_learn_nothing(new, candidates):
    sparse, batch = new(True), encoded(new)
    for _ in range(2):  # what is kept between batches is left as it was
        torch.testing.assert_close(sparse.logits(batch, candidates), new(False).logits(batch, candidates))
    assert table_of(sparse).take_gradient() is None


def test_the_ranking_equals_that_of_a_dense_head(new):
    ours, expected = (new(flag).top_k(encoded(new), 5) for flag in (True, False))
    np.testing.assert_array_equal(ours.ids, expected.ids)
    np.testing.assert_allclose(ours.scores, expected.scores, rtol=1e-6)


def test_a_frozen_table_gets_no_gradient(new):
    head, targets = new(True), some_targets().sparse()
    table_of(head).frozen = True
    loss = head(encoded(new), targets, candidates=LISTS)
    loss.backward()
    assert table_of(head).take_gradient() is None
    head = new(True).eval()
    torch.testing.assert_close(head(encoded(new), targets, candidates=LISTS), loss)
    assert table_of(head).take_gradient() is None


def test_labels_out_of_range_are_refused_before_they_are_gathered(new):
    head, targets = new(True), some_targets()
    with pytest.raises(ValueError, match=r"candidates must be in -1\.\.36"):
        head(encoded(new), targets.sparse(), candidates=np.full((ROWS, 1), LABELS))
    with pytest.raises(ValueError, match=r"labels of targets must be in 0\.\.36"):
        head(encoded(new), some_targets(labels=60).sparse(), candidates=LISTS)
