"""What heads start with: the bounds of the papers, from streams of their own."""

from __future__ import annotations

import math

import pytest
import torch

from tailwright.heads.dense import DenseHead
from tailwright.heads.label_specific import LabelSpecificHead
from tailwright.heads.shared_mlp import SharedMlpHead


def spread(tensor: torch.Tensor) -> float:
    return float(tensor.detach().abs().max())


def test_the_label_specific_head_starts_xavier_with_biases_of_zero():
    head, bound = LabelSpecificHead(300, 60, seed=0, name="head"), math.sqrt(6 / 360)
    for vectors in (head.attention, head.outputs):
        assert spread(vectors) == pytest.approx(bound, rel=0.01)
    assert not torch.equal(head.attention, head.outputs)
    assert not head.bias.any()


def test_the_shared_head_starts_xavier_with_biases_of_a_linear_layer():
    head = SharedMlpHead(300, 200, [150, 100], seed=0, name="head")
    assert [tuple(layer.weight.shape) for layer in head.layers] == [(150, 200), (100, 150), (1, 100)]
    for layer in head.layers[:2]:
        assert spread(layer.weight) == pytest.approx(math.sqrt(6 / sum(layer.weight.shape)), rel=0.01)
    assert spread(head.layers[0].bias) == pytest.approx(1 / math.sqrt(200), rel=0.05)
    assert spread(head.layers[1].bias) == pytest.approx(1 / math.sqrt(150), rel=0.05)


def test_the_layers_of_512_256_128_hold_as_many_numbers_as_the_paper_says():
    head = SharedMlpHead(3, 512, [256, 128], seed=0, name="head")
    assert sum(weight.numel() for weight in head.layers.parameters()) == 164_353


@pytest.mark.parametrize(
    "new",
    [
        lambda: LabelSpecificHead(400, 50, seed=0, name="x"),
        lambda: SharedMlpHead(400, 50, [3], seed=0, name="x"),
    ],
)
def test_attention_starts_xavier_uniform(new):
    vectors, bound = new().attention.detach(), (6 / 450) ** 0.5
    assert float(vectors.abs().max()) <= bound
    assert float(vectors.abs().max()) > 0.99 * bound
    assert abs(float(vectors.mean())) < 0.01 * bound


def test_the_dense_head_starts_as_it_is_told():
    bound = 1 / math.sqrt(100)
    usual = DenseHead(500, 100, seed=0, name="head")
    assert spread(usual.weight) == pytest.approx(bound, rel=0.01)
    assert spread(usual.bias) == pytest.approx(bound, rel=0.02)
    bare = DenseHead(500, 100, seed=0, name="head", start="xavier", bias=False)
    assert spread(bare.weight) == pytest.approx(math.sqrt(6 / 600), rel=0.01)
    assert bare.bias is None
    with pytest.raises(ValueError, match="start must be one of fan-in, xavier, got 'zero'"):
        DenseHead(5, 3, seed=0, name="head", start="zero")


NEW = {
    "label-specific": lambda **options: LabelSpecificHead(7, 4, **options),
    "shared-mlp": lambda **options: SharedMlpHead(7, 4, [3], **options),
    "dense": lambda **options: DenseHead(7, 4, **options),
}


@pytest.mark.parametrize("new", NEW.values(), ids=NEW.keys())
def test_the_start_depends_on_seed_and_name_alone(new):
    first, again = new(seed=0, name="head").state_dict(), new(seed=0, name="head").state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)
    for other in (new(seed=1, name="head").state_dict(), new(seed=0, name="other").state_dict()):
        drawn = [name for name in first if first[name].any()]
        assert not any(torch.equal(first[name], other[name]) for name in drawn)


@pytest.mark.parametrize("layers", [[], [3, 0]])
def test_layers_must_have_sizes(layers):
    with pytest.raises(ValueError, match="layers must be one or more sizes >= 1"):
        SharedMlpHead(7, 4, layers, seed=0, name="head")


@pytest.mark.parametrize("new", [NEW["shared-mlp"], NEW["dense"]])
def test_a_sparse_head_starts_with_the_same_numbers(new):
    dense, sparse = (new(seed=0, name="head", sparse=flag).state_dict() for flag in (False, True))
    table = next(iter(dense))  # the vectors of labels
    assert torch.equal(sparse.pop(f"{table}.weight"), dense.pop(table))
    assert all(torch.equal(sparse[name], dense[name]) for name in dense)


def test_torchs_generator_is_left_alone():
    before = torch.get_rng_state()
    for new in NEW.values():
        new(seed=0, name="head")
    assert torch.equal(torch.get_rng_state(), before)
