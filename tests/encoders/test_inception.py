"""InceptionXML's encoder: the shapes of the paper, attention that starts as nothing, padding, batch norm."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tailwright.data.text.sequences import TokenBatch, TokenRows
from tailwright.encoders.batch_norm import BatchNorm
from tailwright.encoders.dropout import drawing_from
from tailwright.encoders.inception import InceptionEncoder
from tailwright.encoders.joined_tokens import TokenJoiner
from tailwright.encoders.settings import InceptionSettings
from tailwright.streams import stream


def drawn(*shape: int) -> np.ndarray:
    return stream(0, "drawn").standard_normal(shape, dtype=np.float32)


def small() -> InceptionEncoder:
    """Its attentions matter, and batch statistics are not those it starts with."""
    encoder = InceptionEncoder(drawn(20, 64), 6, InceptionSettings(channels=4), seed=3)
    encoder.channels.over_words.scale.data.fill_(0.3)
    encoder.channels.over_axis.scale.data.fill_(0.2)
    for module in encoder.modules():
        if isinstance(module, BatchNorm):
            module.running_mean.fill_(0.1)
    return encoder.eval()


BATCH = TokenBatch(np.array([[2, 3, 4, 5, 6], [7, 0, 0, 0, 0]], np.int32), np.array([5, 1], np.int32))


def test_the_shapes_are_those_of_the_paper():
    encoder = InceptionEncoder(drawn(9, 300), 32, InceptionSettings(), seed=0).eval()
    shapes: list[tuple[int, ...]] = []
    layers = [encoder.channels, *encoder.inception.convolutions, encoder.inception, encoder.last.convolution]
    for layer in layers:
        layer.register_forward_hook(lambda module, given, result: shapes.append(tuple(result.shape[1:])))
    assert encoder(BATCH).states.shape == (2, 480)
    assert encoder.width == 480
    assert shapes == [(32, 300), (32, 75), (32, 75), (32, 75), (96, 75), (32, 15)]


def test_attention_is_the_identity_at_the_start():
    channels = InceptionEncoder(drawn(9, 64), 6, InceptionSettings(channels=4), seed=0).eval().channels
    x = torch.from_numpy(drawn(2, 5, 64))
    assert torch.equal(channels.over_words(x), x)
    assert torch.equal(channels.over_axis(x, x), x)


def test_attention_follows_its_formula():
    channels = small().channels
    x, y = torch.from_numpy(drawn(2, 6, 64)), torch.from_numpy(drawn(3, 2, 6, 64)[2])
    over_words, over_axis = channels.over_words, channels.over_axis
    expected = x + 0.3 * (x @ x.mT) @ (over_words.map.normalised() @ x)
    torch.testing.assert_close(over_words(x), expected)
    expected = x.mT + 0.2 * (x.mT @ y) @ (over_axis.map.normalised() @ x.mT)
    torch.testing.assert_close(over_axis(x, y).mT, expected, rtol=1e-3, atol=1e-3)


def test_padding_changes_nothing():
    encoder = small()
    with torch.no_grad():
        together = encoder(BATCH).states
        alone = encoder(TokenBatch(BATCH.ids[1:, :1], BATCH.lengths[1:])).states
        wider = TokenBatch(np.pad(BATCH.ids, ((0, 0), (0, 1))), BATCH.lengths)
        torch.testing.assert_close(encoder(wider).states, together)
    torch.testing.assert_close(alone, together[1:])


def test_a_batch_of_one_row_is_learnt_from():
    norm = BatchNorm(3).train()
    one = torch.from_numpy(drawn(1, 3))
    torch.testing.assert_close(norm(one), one, rtol=1e-4, atol=1e-4)
    assert not norm.running_mean.any()
    two = norm(torch.from_numpy(drawn(2, 3)))
    torch.testing.assert_close(two.mean(0), torch.zeros(3))
    with drawing_from(stream(0, "batch")):
        assert small().train()(TokenBatch(BATCH.ids[:1], BATCH.lengths[:1])).states.isfinite().all()


@pytest.mark.parametrize("most", [3, 4, 9])
def test_appended_tokens_stand_behind_the_last_real_one_and_are_cut_at_the_limit(most):
    lists, others = [[5], [6, 7], [8, 9, 10]], [[1, 2], [3]]
    joiner = TokenJoiner(token_rows(lists), token_rows(others), most)
    rows, appended = np.array([2, 0, 1, 0]), np.array([0, 1, -1, 0], dtype=np.int32)
    batch = joiner.batch(rows, appended)
    found = [batch.ids[row, :length].tolist() for row, length in enumerate(batch.lengths)]
    expected = [
        (lists[row] + (others[other] if other >= 0 else []))[:most]
        for row, other in zip(rows, appended, strict=True)
    ]
    assert found == expected
    assert not batch.ids[~batch.inside].any()


def token_rows(lists: list[list[int]]) -> TokenRows:
    return TokenRows(np.concatenate(lists).astype(np.int32), np.cumsum([0, *map(len, lists)]), padding=0)
