"""What heads start with: the bounds of the papers, from streams of their own."""

from __future__ import annotations

import math

import pytest
import torch
from tailwright.heads.dense_scores import DenseHead

from tailwright.heads.label_specific import LabelSpecificHead
from tailwright.heads.shared_mlp import SharedMlpHead


def spread(tensor: torch.Tensor) -> float:
    return float(tensor.abs().max())


def test_the_label_specific_head_starts_xavier_with_biases_of_zero():
    head, bound = LabelSpecificHead.new(300, 60, 0, "head"), math.sqrt(6 / 360)
    for vectors in (head.attention, head.outputs):
        assert spread(vectors) == pytest.approx(bound, rel=0.01)
    assert not torch.equal(head.attention, head.outputs)
    assert not head.bias.any()


def test_the_shared_head_starts_xavier_with_biases_of_a_linear_layer():
    head = SharedMlpHead.new(300, 200, [150, 100], 0, "head")
    assert [tuple(w.shape) for w in head.weights] == [(150, 200), (100, 150), (1, 100)]
    for weight in head.weights[:2]:
        assert spread(weight) == pytest.approx(math.sqrt(6 / sum(weight.shape)), rel=0.01)
    assert spread(head.biases[0]) == pytest.approx(1 / math.sqrt(200), rel=0.05)
    assert spread(head.biases[1]) == pytest.approx(1 / math.sqrt(150), rel=0.05)


def test_the_layers_of_512_256_128_hold_as_many_numbers_as_the_paper_says():
    head = SharedMlpHead.new(3, 512, [256, 128], 0, "head")
    assert sum(part.numel() for part in (*head.weights, *head.biases)) == 164_353


def test_the_dense_head_starts_as_it_is_told():
    bound = 1 / math.sqrt(100)
    usual = DenseHead.new(500, 100, 0, "head")
    assert spread(usual.weight) == pytest.approx(bound, rel=0.01)
    assert spread(usual.bias) == pytest.approx(bound, rel=0.02)
    bare, normal = (DenseHead.new(500, 100, 0, "head", start) for start in ("xavier", "xavier-normal"))
    assert spread(bare.weight) == pytest.approx(math.sqrt(6 / 600), rel=0.01)
    assert bare.bias is None
    assert float(normal.bias.std()) == pytest.approx(1, rel=0.1)
    with pytest.raises(ValueError, match="start must be one of fan-in, xavier, xavier-normal, got 'zero'"):
        DenseHead.new(5, 3, 0, "head", "zero")


NEW = {
    "label-specific": lambda seed, name: LabelSpecificHead.new(7, 4, seed, name),
    "shared-mlp": lambda seed, name: SharedMlpHead.new(7, 4, [3], seed, name),
    "dense": lambda seed, name: DenseHead.new(7, 4, seed, name),
}


@pytest.mark.parametrize("new", NEW.values(), ids=NEW.keys())
def test_the_start_depends_on_seed_and_name_alone(new):
    first, again = new(0, "head").parts("a"), new(0, "head").parts("a")
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert {name.partition(".")[0] for name in first} == {"a"}
    for other in (new(1, "head").parts("a"), new(0, "other").parts("a")):
        drawn = [name for name in first if first[name].any()]
        assert not any(torch.equal(first[name], other[name]) for name in drawn)


@pytest.mark.parametrize("layers", [[], [3, 0]])
def test_layers_must_have_sizes(layers):
    with pytest.raises(ValueError, match="layers must be one or more sizes >= 1"):
        SharedMlpHead.new(7, 4, layers, 0, "head")
