"""Label vectors from components: gates, and attention that can take one component more."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from tailwright.encoders.dropout import drawing_from
from tailwright.heads.label_components import ComponentAttention, GatedSum
from tailwright.streams import stream


def vectors(*names: str, labels: int = 6, width: int = 8) -> list[torch.Tensor]:
    return [
        torch.from_numpy(stream(1, name).standard_normal((labels, width), dtype=np.float32)) for name in names
    ]


def test_new_gates_count_both_vectors_half():
    free, text = vectors("free", "text")
    torch.testing.assert_close(GatedSum(8)(free, text), (free + text) / 2)


def test_attention_is_the_formula_of_its_page():
    layer, parts = ComponentAttention(3, 8, 0.2, 0, "layer").eval(), vectors("a", "b", "c")
    layer.inner.bias.data[:] = torch.linspace(-1, 1, 8)
    inner, outer = layer.inner.normalised(), layer.outer.normalised()
    for label in range(6):
        stacked = torch.stack([part[label] for part in parts])  # (components, width)
        logits = outer @ (functional.relu(stacked) @ inner.T + layer.inner.bias).flatten()
        expected = torch.softmax(logits, 0) @ stacked
        torch.testing.assert_close(layer(*parts)[label], expected)


def test_weights_of_components_sum_to_1():
    weights = ComponentAttention(2, 8, 0.2, 0, "layer").eval().weights(*vectors("a", "b"))
    assert weights.shape == (6, 2)
    torch.testing.assert_close(weights.sum(1), torch.ones(6))


def test_equal_components_are_their_own_mean():
    (one,) = vectors("a")
    torch.testing.assert_close(ComponentAttention(3, 8, 0.2, 0, "layer").eval()(one, one, one), one)


def test_new_maps_have_norm_1():
    layer = ComponentAttention(2, 8, 0.2, 0, "layer")
    for linear in (layer.inner, layer.outer):
        norm = float(torch.linalg.matrix_norm(linear.normalised().detach(), 2))
        assert abs(norm - 1) < 0.02


def test_one_more_component_leaves_what_was_learnt_of_the_others():
    layer, parts = ComponentAttention(2, 8, 0.0, 0, "layer"), vectors("a", "b")
    with drawing_from(np.random.default_rng(0)):
        layer(*parts).square().sum().backward()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter -= 0.1 * parameter.grad
    wider = layer.with_one_more(1, "wider")
    torch.testing.assert_close(wider.inner.weight, layer.inner.weight)
    torch.testing.assert_close(wider.inner.left, layer.inner.left)
    assert wider.outer.weight.shape == (3, 24)
    torch.testing.assert_close(wider.outer.weight[:2, :16], layer.outer.weight)
    assert bool((wider.outer.weight[2] != 0).all())
    assert wider.eval()(*parts, *vectors("c")).shape == (6, 8)


def test_dropout_comes_from_the_stream_of_the_batch():
    layer, parts = ComponentAttention(2, 8, 0.5, 0, "layer"), vectors("a", "b")
    found = []
    for seed in (0, 0, 1):
        twin = ComponentAttention(2, 8, 0.5, 0, "layer")
        with drawing_from(np.random.default_rng(seed)):
            found.append(twin(*parts).detach())
    torch.testing.assert_close(found[0], found[1])
    assert not torch.allclose(found[0], found[2])
    assert not torch.allclose(found[0], layer.eval()(*parts).detach())
