"""Encoders over word ids, BiLSTM and text CNN: padding, dropout, word vectors; tables to start from."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tailwright.data.text.sequences import TokenBatch
from tailwright.data.text.vocabulary import UNKNOWN, WordVocabulary
from tailwright.encoders.bilstm import BiLstm
from tailwright.encoders.dropout import drawing_from
from tailwright.encoders.settings import BiLstmSettings, TextCnnSettings
from tailwright.encoders.text_cnn import TextCnn, chunk_places
from tailwright.pretrained.word_vectors import word_table
from tailwright.streams import stream
from tailwright.training.module_network import ModuleOptimisers
from tailwright.training.phases import Plan
from tailwright.training.weights import weights_of

TEXTS = ["red hat", "", "the quick brown fox jumps over the lazy dog " * 2, "shoes", "a red shoe and a hat"]


@cache
def vocabulary() -> WordVocabulary:
    """Not built when tests are collected: its kernels may have to be compiled."""
    return WordVocabulary.build(TEXTS)


def bilstm() -> BiLstm:
    return BiLstm(word_table(vocabulary(), 6, "random"), BiLstmSettings(hidden=5), seed=3)


def text_cnn() -> TextCnn:
    settings = TextCnnSettings(widths=(2, 4, 8), filters=3, chunks=2, bottleneck=7)
    return TextCnn(word_table(vocabulary(), 6, "random"), settings, seed=3)


@pytest.fixture(params=[bilstm, text_cnn])
def encoder(request: pytest.FixtureRequest) -> BiLstm | TextCnn:
    """With random first states and biases, so that nothing is left out for being zero."""
    encoder = request.param().eval()
    with torch.no_grad():
        for number, (name, parameter) in enumerate(encoder.named_parameters()):
            if "states" in name or "bias" in name:
                drawn = stream(0, "draws", number).standard_normal(tuple(parameter.shape), dtype=np.float32)
                parameter.copy_(torch.from_numpy(drawn))
    return encoder


def states_in_training(encoder: BiLstm | TextCnn, batch: TokenBatch, step: int) -> torch.Tensor:
    """What the encoder gives with dropout; it stays in training mode."""
    with drawing_from(stream(0, "batch", step)):
        states: torch.Tensor = encoder.train()(batch).states
    return states


def test_a_text_gives_the_same_alone_as_in_a_padded_batch(encoder):
    rows = vocabulary().rows(TEXTS, 500)
    with torch.no_grad():
        encoded = encoder(rows.padded())
        together = encoded.states
        assert together.shape[-1] == encoder.width
        for place, length in enumerate(rows.lengths):
            alone = encoder(rows.batch(np.array([place]))).states[0]
            found = together[place]
            if isinstance(encoder, BiLstm):
                assert not found[length:].any()
                found = found[:length]
            torch.testing.assert_close(found, alone, rtol=0, atol=1e-6)
    assert len({tuple(row.flatten().tolist()) for row in together}) == len(TEXTS)
    assert (encoded.mask is not None) == encoder.by_token == isinstance(encoder, BiLstm)
    assert encoded.mask is None or torch.equal(encoded.mask, torch.from_numpy(rows.padded().inside))


def test_the_lstm_is_the_bidirectional_one_of_packed_rows_with_its_gradients():
    encoder = bilstm().eval()
    drawn = stream(0, "states").standard_normal((2, 2, 5), dtype=np.float32)
    with torch.no_grad():
        encoder.first_states.copy_(torch.from_numpy(drawn))
    twin = torch.nn.LSTM(6, 5, bidirectional=True, batch_first=True)
    for end, suffix in (("start", ""), ("end", "_reverse")):
        for name, part in encoder.directions[end].named_parameters():
            getattr(twin, name + suffix).data.copy_(part.detach())
    batch = vocabulary().rows(TEXTS, 500).padded()
    states = torch.from_numpy(drawn).requires_grad_()
    vectors = torch.from_numpy(encoder.words.table.array[batch.ids])
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        vectors, torch.from_numpy(batch.lengths).long(), batch_first=True, enforce_sorted=False
    )
    first = states.transpose(0, 1)[:, :, None].expand(-1, -1, len(batch), -1).contiguous()
    read, _ = twin(packed, (first[0], first[1]))
    expected, _ = torch.nn.utils.rnn.pad_packed_sequence(read, batch_first=True)
    found = encoder(batch).states
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    weights = torch.from_numpy(stream(0, "weights").standard_normal(found.shape, dtype=np.float32))
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    torch.testing.assert_close(encoder.first_states.grad, states.grad, rtol=1e-4, atol=1e-5)
    for end, suffix in (("start", ""), ("end", "_reverse")):
        for name, part in encoder.directions[end].named_parameters():
            torch.testing.assert_close(part.grad, getattr(twin, name + suffix).grad, rtol=1e-4, atol=1e-5)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(1, 9))
def test_runs_of_places_are_those_of_adaptive_pooling(counts, chunks):
    found = chunk_places(np.array(counts), chunks)
    for count, runs in zip(counts, found, strict=True):
        values = torch.from_numpy(stream(count, "values").standard_normal(count))
        pooled = torch.nn.functional.adaptive_max_pool1d(values[None], chunks)[0]
        assert torch.equal(values[torch.from_numpy(runs)].amax(dim=1), pooled)


def test_the_cnn_equals_filters_slid_by_hand():
    encoder = text_cnn().eval()
    rows = vocabulary().rows(["the quick brown fox jumps over the lazy dog and a red hat", "red"], 500)
    with torch.no_grad():
        found = encoder(rows.padded()).states.numpy()
    weights = weights_of(encoder)
    for place in range(2):
        vectors = encoder.words.table.array[rows.batch(np.array([place])).ids[0]]
        pooled = []
        for kind, width in enumerate((2, 4, 8)):
            filters, bias = (weights[f"convolutions.{kind}.{name}"] for name in ("weight", "bias"))
            read = np.concatenate([vectors, np.zeros((max(width - len(vectors), 0), 6), np.float32)])
            along = np.array(
                [
                    np.einsum("fdw,wd->f", filters, read[start : start + width])
                    for start in range(len(read) - width + 1)
                ]
            )
            along = np.maximum(along + bias, 0)  # (places, filters)
            half = (len(along) + 1) // 2
            pooled.append(np.stack([along[:half].max(0), along[len(along) // 2 :].max(0)], axis=1).ravel())
        hidden = weights["hidden.weight"] @ np.concatenate(pooled) + weights["hidden.bias"]
        np.testing.assert_allclose(found[place], np.maximum(hidden, 0), atol=1e-5)


def test_dropout_comes_from_the_stream_of_the_batch(encoder):
    batch = vocabulary().rows(TEXTS, 500).padded()

    def drawn(step: int) -> torch.Tensor:
        states = states_in_training(encoder, batch, step).detach()
        encoder.words.table.take_gradient()
        return states

    first = drawn(1)
    assert torch.equal(drawn(1), first)
    assert not torch.equal(drawn(2), first)
    assert not torch.equal(encoder.eval()(batch).states, first)


def test_only_the_words_of_a_batch_learn(encoder):
    parameters, before = dict(encoder.named_parameters()), encoder.words.table.array.copy()
    optimisers = ModuleOptimisers(encoder, Plan(1, 2, dict.fromkeys(parameters, 0.1)))
    batch = vocabulary().rows(["red hat", "a red zebra"], 500).padded()
    # With row 0 of the stream dropout would take all that a word has a part in.
    states_in_training(encoder, batch, 1).square().sum().backward()
    still = [name for name, parameter in parameters.items() if parameter.grad is None]
    assert still == ["words.table.weight"]  # its gradient is collected apart
    optimisers.step(1.0)
    changed = (encoder.words.table.array != before).any(axis=1)
    assert set(np.flatnonzero(changed)) == set(batch.ids[batch.inside])
    assert UNKNOWN in np.flatnonzero(changed)
    assert not changed[vocabulary().padding_id]


def test_frozen_words_stay_while_the_rest_learns(encoder):
    rates = {name: 0.1 for name, _ in encoder.named_parameters() if not name.startswith("words.")}
    optimisers = ModuleOptimisers(encoder, Plan(1, 2, rates))
    before = encoder.words.table.array.copy()
    for step in range(2):
        batch = vocabulary().rows(TEXTS, 500).padded()
        states_in_training(encoder, batch, step).square().sum().backward()
        optimisers.step(1.0)
    np.testing.assert_array_equal(encoder.words.table.array, before)


def test_weights_follow_the_seed_and_are_as_large_as_they_should_be():
    table = word_table(vocabulary(), 6, "random")
    first, again, other = (
        BiLstm(table, BiLstmSettings(hidden=9), seed=seed).directions for seed in (1, 1, 2)
    )
    for one, same, another in zip(first.parameters(), again.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, same)
        assert not torch.equal(one, another)
        assert 0.25 < one.abs().max() <= 1 / 3
    assert not bilstm().first_states.any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BiLstmSettings(hidden=0), "hidden must be in \\[1, 65536\\], got 0"),
        (lambda: BiLstmSettings(drop_words=1.0), r"drop_words must be in \[0, 1\), got 1\.0"),
        (lambda: TextCnnSettings(widths=()), "widths must be one or more numbers of words, got none"),
        (lambda: TextCnnSettings(chunks=0), "chunks must be in \\[1, 65536\\], got 0"),
        (lambda: TextCnnSettings(drop_hidden=-0.1), r"drop_hidden must be in \[0, 1\), got -0\.1"),
    ],
)
def test_settings_say_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_word_table_is_known_vectors_as_they_are_and_uniform_ones(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("hat 3 4\nred 0 -2\n")
    vocabulary = WordVocabulary.build(["red hat shoe"])
    table = word_table(vocabulary, 3, str(path), pad=True, seed=1)
    assert table.dtype == np.float32
    place = {word: row for row, word in enumerate(vocabulary.vocabulary.to_pylist(), start=2)}
    np.testing.assert_array_equal(table[place["hat"], :2], [3, 4])
    np.testing.assert_array_equal(table[place["red"], :2], [0, -2])
    drawn = word_table(vocabulary, 3, "random", seed=1)
    np.testing.assert_array_equal(table[place["shoe"]], drawn[place["shoe"]])
    np.testing.assert_array_equal(table[:, 2], drawn[:, 2])
    assert not table[vocabulary.padding_id].any()
    assert table[UNKNOWN].any()
    many = word_table(WordVocabulary.build([" ".join(map(str, range(999)))]), 40, "random")[1:]
    assert -1 <= many.min() < -0.99
    assert 0.99 < many.max() <= 1
    assert abs(many.mean()) < 0.01


def test_random_vectors_of_a_word_table_are_scaled_by_their_spread_and_known_ones_are_not(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("hat 3 4\n")
    vocabulary = WordVocabulary.build(["hat shoe"])
    wide, narrow = (word_table(vocabulary, 2, str(path), spread=spread) for spread in (1.0, 0.25))
    np.testing.assert_array_equal(wide[2], [3, 4])
    np.testing.assert_array_equal(narrow[2], [3, 4])
    np.testing.assert_array_equal(narrow[[1, 3]], wide[[1, 3]] / 4)
