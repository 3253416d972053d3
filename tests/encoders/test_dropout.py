"""Dropout: masks out of the batch's stream, our own and those of torch's modules."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from tailwright.encoders.dropout import Dropout, drawing_from, kept_cells, torch_draws_from
from tailwright.streams import stream

CPU = torch.device("cpu")


def test_masks_are_drawn_from_the_stream_and_keep_the_mean():
    once, again = (kept_cells(stream(4, "drop"), (200, 100), 0.5) for _ in range(2))
    assert torch.equal(once, again)
    assert set(once.unique().tolist()) == {0.0, 2.0}
    assert abs(float(once.mean()) - 1) < 0.05
    assert (kept_cells(stream(4, "drop"), (3, 3), 0.0) == 1).all()


@pytest.mark.parametrize("drop", [0.0, 0.2, 0.5, 0.999, 0.999999])
@pytest.mark.parametrize("shape", [(3, 5), (700, 129), (4, 2, 8)])
def test_of_relu_is_dropout_of_relu_to_the_bit_and_so_is_its_gradient(drop, shape):
    values = torch.from_numpy(stream(1, "values").standard_normal(shape, dtype="f"))
    weights = torch.from_numpy(stream(2, "weights").standard_normal(shape, dtype="f"))
    layer, found = Dropout(drop), []
    for compute in (layer.of_relu, lambda x: layer(functional.relu(x))):
        x, random = values.clone().requires_grad_(), stream(3, "drop")
        with drawing_from(random):
            out = compute(x)
        (out * weights).sum().backward()
        found.append((out.detach(), x.grad, random.random()))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])
    assert found[0][2] == found[1][2]
    assert torch.equal(layer.eval().of_relu(values), functional.relu(values))


def test_of_relu_takes_views_and_gradients_that_are_not_contiguous():
    layer = Dropout(0.5)
    with drawing_from(stream(3, "drop")):
        x = torch.ones(6, 4).T.requires_grad_()
        layer.of_relu(x).T.mul(torch.ones(6, 4)).sum().backward()
    assert set(x.grad.unique().tolist()) == {0.0, 2.0}


def test_values_stay_as_they_are_in_evaluation_or_without_a_rate():
    values, random = torch.arange(6.0), stream(0, "drop")
    with drawing_from(random):
        assert Dropout(0.5).eval()(values) is values
        assert Dropout(0.0)(values) is values
    assert random.random() == stream(0, "drop").random()


def test_in_training_masks_come_from_the_innermost_stream_at_work():
    values, layer = torch.ones(40, 30), Dropout(0.5)
    with drawing_from(stream(4, "drop")):
        first = layer(values)
        with drawing_from(stream(4, "drop")):
            inner = layer(values)
        second = layer(values)
    assert torch.equal(first, values * kept_cells(stream(4, "drop"), (40, 30), 0.5))
    assert torch.equal(inner, first)
    assert not torch.equal(second, first)
    with pytest.raises(RuntimeError, match="outside of drawing_from"):
        layer(values)


@pytest.mark.parametrize("drop", [0.1, 0.5, 0.9, 1e-7])
def test_torchs_dropout_follows_the_stream_and_has_its_rate_and_gradient(drop):
    values = torch.full((300, 200), 3.0, requires_grad=True)
    outside = torch.random.get_rng_state()
    with torch_draws_from(stream(1, "batch"), CPU):
        found, other = functional.dropout(values, drop), functional.dropout(values, drop)
    assert torch.equal(torch.random.get_rng_state(), outside)
    with torch_draws_from(stream(1, "batch"), CPU):
        assert torch.equal(functional.dropout(values, drop), found)
    assert torch.equal(found, other) == (drop == 1e-7)  # a second mask is another one
    kept = found > 0
    torch.testing.assert_close(found[kept], torch.full((int(kept.sum()),), 3 / (1 - drop)))
    assert float((~kept).float().mean()) == pytest.approx(drop, abs=0.01)
    found.sum().backward()
    torch.testing.assert_close(values.grad, kept / (1 - drop))


def test_attention_drops_by_the_stream_too():
    states = torch.randn(2, 3, 5, 4, generator=torch.Generator().manual_seed(0))

    def attended(row: int) -> torch.Tensor:
        with torch_draws_from(stream(2, "batch", row), CPU):
            return functional.scaled_dot_product_attention(states, states, states, dropout_p=0.3)

    assert torch.equal(attended(0), attended(0))
    assert not torch.equal(attended(0), attended(1))


def test_torchs_own_masks_are_as_ever_behind_the_block():
    values = torch.ones(1000)
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(7)
        expected = functional.dropout(values, 0.3)
        torch.manual_seed(7)
        with torch_draws_from(stream(3, "batch"), CPU):
            assert not torch.equal(functional.dropout(values, 0.3), expected)
        assert torch.equal(functional.dropout(values, 0.3), expected)
