"""Label attention in blocks equals the plain form, and padding has no say in it."""

from __future__ import annotations

import plain_heads
import pytest
import torch
from plain_heads import LABELS, ROWS, TOKENS, WIDTH, drawn, padded_mask, plain_contexts, some_targets

from tailwright.heads.label_attention import label_contexts, mask_of_lengths, new_label_vectors
from tailwright.heads.shared_mlp import SharedMlpHead


@pytest.fixture(params=["one block", "several blocks"], autouse=True)
def _blocks(request, monkeypatch):
    if request.param == "several blocks":
        plain_heads.several_blocks(monkeypatch)


def batch(dtype=torch.float64):
    hidden, vectors = drawn(1, ROWS, TOKENS, WIDTH).to(dtype), drawn(2, LABELS, WIDTH).to(dtype)
    return hidden.requires_grad_(), padded_mask(), vectors.requires_grad_()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_contexts_and_gradients_equal_the_plain_form(dtype):
    hidden, mask, vectors = batch(dtype)
    found, expected = label_contexts(hidden, mask, vectors), plain_contexts(hidden, mask, vectors)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    slopes = drawn(3, *found.shape).to(dtype)
    ours = torch.autograd.grad((found * slopes).sum(), [hidden, vectors])
    plain = torch.autograd.grad((expected * slopes).sum(), [hidden, vectors])
    for a, b in zip(ours, plain, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def test_labels_of_each_text_are_slices_of_all():
    hidden, mask, vectors = batch()
    lists = torch.stack([torch.arange(20).roll(row) for row in range(ROWS)])
    found = label_contexts(hidden, mask, vectors[lists])
    every = plain_contexts(hidden, mask, vectors)
    expected = every.gather(1, lists[..., None].expand(-1, -1, WIDTH))
    torch.testing.assert_close(found, expected)
    ours = torch.autograd.grad(found.square().sum(), [hidden, vectors])
    plain = torch.autograd.grad(expected.square().sum(), [hidden, vectors])
    for a, b in zip(ours, plain, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("own", [False, True])
def test_the_derivative_of_contexts_is_that_of_their_differences(own):
    hidden, vectors = drawn(1, 2, 3, 2).requires_grad_(), drawn(2, *([2] if own else []), 18, 2)
    mask = torch.tensor([[True, True, False], [True, True, True]])
    inputs = (hidden, vectors.requires_grad_())
    assert torch.autograd.gradcheck(lambda h, v: label_contexts(h, mask, v), inputs)


@pytest.mark.parametrize("trained", [0, 2])
def test_only_what_is_trained_gets_a_gradient(trained):
    tensors = batch()
    expected = torch.autograd.grad(plain_contexts(*tensors).square().sum(), tensors[trained])
    frozen = [tensor if i in (trained, 1) else tensor.detach() for i, tensor in enumerate(tensors)]
    found = torch.autograd.grad(label_contexts(*frozen).square().sum(), tensors[trained])
    torch.testing.assert_close(found, expected)


def test_the_shared_head_over_contexts_equals_its_loss_in_blocks():
    hidden, mask, vectors = batch()
    layers = plain_heads.shared_mlp().tensors[2:]
    head, targets = SharedMlpHead(vectors, tuple(layers[:3]), tuple(layers[3:])), some_targets()
    scores = head.of_contexts(label_contexts(hidden, mask, vectors))
    torch.testing.assert_close(
        head.loss(hidden, mask, targets.sparse(), mean="rows"), targets.mean_loss(scores, ROWS)
    )


@pytest.mark.parametrize("make", [plain_heads.label_specific, plain_heads.shared_mlp])
def test_appended_padding_changes_no_score_and_gets_no_gradient(make):
    case = make()
    longer = torch.cat([case.tensors[0], 1e3 * drawn(9, ROWS, 4, WIDTH)], 1).requires_grad_()
    mask = torch.cat([case.mask, torch.zeros(ROWS, 4, dtype=torch.bool)], 1)
    torch.testing.assert_close(case.head().scores(longer, mask), case.scores())
    case.head().loss(longer, mask, some_targets().sparse()).backward()
    assert bool((longer.grad[~mask] == 0).all())
    assert bool((longer.grad[mask] != 0).any())


def test_padding_changes_no_context():
    hidden, mask, vectors = batch()
    longer = torch.cat([hidden, 1e3 * drawn(9, ROWS, 4, WIDTH)], 1)
    wider = torch.cat([mask, torch.zeros(ROWS, 4, dtype=torch.bool)], 1)
    found = label_contexts(longer, wider, vectors)
    torch.testing.assert_close(found, label_contexts(hidden, mask, vectors))


def test_one_token_is_the_context_of_every_label():
    hidden, mask, vectors = batch()
    found = label_contexts(hidden, mask, vectors)[1]  # the text of length 1
    torch.testing.assert_close(found, hidden[1, 0].expand(LABELS, WIDTH))


def test_a_text_without_tokens_is_refused_by_number():
    hidden, mask, vectors = batch()
    mask[3] = False
    with pytest.raises(ValueError, match="text 3 of the batch has no token"):
        label_contexts(hidden, mask, vectors)
    case = plain_heads.label_specific()
    with pytest.raises(ValueError, match="text 3 of the batch has no token"):
        case.head().scores(case.tensors[0], mask)


@pytest.mark.parametrize("wrong", [torch.ones(ROWS, TOKENS), torch.ones(ROWS, 2, dtype=torch.bool)])
def test_a_mask_of_another_type_or_shape_is_refused(wrong):
    hidden, _, vectors = batch()
    with pytest.raises(ValueError, match="mask must be bool"):
        label_contexts(hidden, wrong, vectors)


def test_a_mask_of_lengths_holds_that_many_tokens():
    assert mask_of_lengths(torch.tensor([0, 2, 3]), 3).sum(1).tolist() == [0, 2, 3]
    assert mask_of_lengths(torch.tensor([2]), 3).tolist() == [[True, True, False]]


def test_attention_starts_xavier_uniform():
    found, bound = new_label_vectors(400, 50, 0, "x"), (6 / 450) ** 0.5
    assert float(found.abs().max()) <= bound
    assert float(found.abs().max()) > 0.99 * bound
    assert abs(float(found.mean())) < 0.01 * bound
