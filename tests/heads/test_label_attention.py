"""Label attention: context vectors of pairs equal the plain form, and padding has no say in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plain_heads
import pytest
import torch
from plain_heads import (
    ATTENDED,
    LABELS,
    ROWS,
    TOKENS,
    WIDTH,
    drawn,
    padded_mask,
    plain_contexts,
    some_targets,
)

from tailwright.encoders.encoded import Encoded
from tailwright.heads.label_attention import pair_contexts

# Every pair of row and label, in no order.
ORDER = np.random.Generator(np.random.Philox(key=5)).permutation(ROWS * LABELS)
PAIR_ROWS, PAIR_LABELS = ORDER // LABELS, ORDER % LABELS


@pytest.fixture(params=["one block", "several blocks"], autouse=True)
def _blocks(request, monkeypatch):
    if request.param == "several blocks":
        plain_heads.several_blocks(monkeypatch)


def batch(dtype=torch.float64):
    states, vectors = drawn(1, ROWS, TOKENS, WIDTH).to(dtype), drawn(2, LABELS, WIDTH).to(dtype)
    return states.requires_grad_(), padded_mask(), vectors.requires_grad_()


def all_contexts(states, mask, vectors):
    """(batch, labels, width), put together from pairs in no order."""
    contexts = pair_contexts(Encoded(states, mask), PAIR_ROWS, vectors[PAIR_LABELS])
    return contexts[np.argsort(ORDER)].view(ROWS, LABELS, WIDTH)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_contexts_and_gradients_equal_the_plain_form(dtype):
    states, mask, vectors = batch(dtype)
    contexts, expected = all_contexts(states, mask, vectors), plain_contexts(states, mask, vectors)
    torch.testing.assert_close(contexts, expected, rtol=1e-5, atol=1e-5)
    weights = drawn(3, *contexts.shape).to(dtype)
    ours = torch.autograd.grad((contexts * weights).sum(), [states, vectors])
    plain = torch.autograd.grad((expected * weights).sum(), [states, vectors])
    for a, b in zip(ours, plain, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def test_contexts_of_some_pairs_are_those_among_all():
    """A pair may be asked for twice, a row or label not at all."""
    states, mask, vectors = batch()
    rows, labels = np.array([4, 0, 4, 0, 1, 0]), np.array([3, 3, 36, 7, 0, 3])
    contexts = pair_contexts(Encoded(states, mask), rows, vectors[labels])
    expected = plain_contexts(states, mask, vectors)[rows, labels]
    torch.testing.assert_close(contexts, expected)
    ours = torch.autograd.grad(contexts.square().sum(), [states, vectors])
    plain = torch.autograd.grad(expected.square().sum(), [states, vectors])
    for a, b in zip(ours, plain, strict=True):
        torch.testing.assert_close(a, b)
    assert pair_contexts(Encoded(states, mask), rows[:0], vectors[labels[:0]]).shape == (0, WIDTH)


def test_the_derivative_of_contexts_is_that_of_their_differences():
    states, vectors = drawn(1, 2, 3, 2).requires_grad_(), drawn(2, 18, 2).requires_grad_()
    mask = torch.tensor([[True, True, False], [True, True, True]])
    rows = np.arange(18) % 2
    assert torch.autograd.gradcheck(lambda s, v: pair_contexts(Encoded(s, mask), rows, v), (states, vectors))


@pytest.mark.parametrize("trained", [0, 2])
def test_only_what_is_trained_gets_a_gradient(trained):
    tensors = batch()
    expected = torch.autograd.grad(plain_contexts(*tensors).square().sum(), tensors[trained])
    frozen = [tensor if i in (trained, 1) else tensor.detach() for i, tensor in enumerate(tensors)]
    gradient = torch.autograd.grad(all_contexts(*frozen).square().sum(), tensors[trained])
    torch.testing.assert_close(gradient, expected)


@pytest.mark.parametrize("make", ATTENDED.values(), ids=ATTENDED.keys())
def test_a_head_over_contexts_equals_its_loss_in_blocks(make):
    case, targets = make(), some_targets()
    head = case.head()
    contexts = plain_contexts(case.tensors[0], case.mask, case.tensors[1])
    tables = [table[PAIR_LABELS] for table in head.tables()]
    logits = head.logits_of_contexts(contexts[PAIR_ROWS, PAIR_LABELS], tables)
    logits = logits[np.argsort(ORDER)].view(ROWS, LABELS)
    torch.testing.assert_close(case.logits(), logits.detach())
    torch.testing.assert_close(
        head(case.encoded(), targets.sparse(), mean="rows"), targets.mean_loss(logits, ROWS)
    )


@pytest.mark.parametrize("make", ATTENDED.values(), ids=ATTENDED.keys())
def test_appended_padding_changes_no_logit_and_gets_no_gradient(make):
    case = make()
    longer = torch.cat([case.tensors[0], 1e3 * drawn(9, ROWS, 4, WIDTH)], 1).requires_grad_()
    mask = torch.cat([case.mask, torch.zeros(ROWS, 4, dtype=torch.bool)], 1)
    torch.testing.assert_close(case.head().logits(Encoded(longer, mask)), case.logits())
    case.head()(Encoded(longer, mask), some_targets().sparse()).backward()
    assert bool((longer.grad[~mask] == 0).all())
    assert bool((longer.grad[mask] != 0).any())


def test_padding_changes_no_context():
    states, mask, vectors = batch()
    longer = torch.cat([states, 1e3 * drawn(9, ROWS, 4, WIDTH)], 1)
    wider = torch.cat([mask, torch.zeros(ROWS, 4, dtype=torch.bool)], 1)
    torch.testing.assert_close(all_contexts(longer, wider, vectors), all_contexts(states, mask, vectors))


def test_one_token_is_the_context_of_every_label():
    states, mask, vectors = batch()
    contexts = all_contexts(states, mask, vectors)[1]  # the text of length 1
    torch.testing.assert_close(contexts, states[1, 0].expand(LABELS, WIDTH))


def test_a_text_without_tokens_is_refused_by_number():
    states, mask, vectors = batch()
    mask[3] = False
    with pytest.raises(ValueError, match="text 3 of the batch has no token"):
        all_contexts(states, mask, vectors)
    case = replace(plain_heads.label_specific(), mask=mask)
    with pytest.raises(ValueError, match="text 3 of the batch has no token"):
        case.logits()


@pytest.mark.parametrize("wrong", [torch.ones(ROWS, TOKENS), torch.ones(ROWS, 2, dtype=torch.bool)])
def test_a_mask_of_another_type_or_shape_is_refused(wrong):
    states, _, vectors = batch()
    with pytest.raises(ValueError, match="mask must be bool"):
        all_contexts(states, wrong, vectors)


def test_an_encoder_without_tokens_is_refused():
    case = replace(plain_heads.label_specific(), mask=None)
    with pytest.raises(ValueError, match="needs an encoder that gives a state a token"):
        case.loss(some_targets().sparse())
