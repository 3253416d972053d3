"""Sequences of tokens: their layout, how they are cut, and batches of similar length."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.language.causal import load_causal
from tailwright.language.pairs import FEWEST_TO_HOLD_OUT
from tailwright.language.sequences import _sequence, bucketed_order, chunks, padded, sequences_of
from tailwright.streams import stream

sys.path.insert(0, str(Path(__file__).parent))
from tiny_tuning import copies, text_pairs

SEP, END = (1000,), 2000


def test_a_sequence_is_source_separator_target_end():
    assert _sequence([1, 2], SEP, [3], END, 100) == ([1, 2, *SEP, 3, END], 3, True)
    assert _sequence([], SEP, [], END, 100) == ([*SEP, END], 1, True)
    assert _sequence([1, 2], SEP, [3, 4], END, 6) == ([1, 2, *SEP, 3, 4, END], 3, True)


def test_a_target_that_is_cut_has_no_end():
    row, begin, whole = _sequence(list(range(10)), SEP, list(range(20, 40)), END, 12)
    assert (row, begin, whole) == ([0, 1, 2, 3, 4, *SEP, 20, 21, 22, 23, 24, 25], 6, False)


def test_a_long_source_is_cut_and_leaves_a_short_target_whole():
    row, begin, whole = _sequence(list(range(50)), SEP, [90, 91], END, 20)
    assert row == [*range(16), *SEP, 90, 91, END]
    assert (begin, whole) == (17, False)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(16, 80), st.integers(0, 3))
def test_no_sequence_is_longer_than_the_limit_and_each_side_has_its_half(source, target, limit, between):
    separator = tuple(range(1000, 1000 + between))
    row, begin, whole = _sequence([1] * source, separator, [2] * target, END, limit)
    assert len(row) <= limit
    assert whole == (source + target + between + 1 <= limit)
    half = (limit - between - 1) // 2
    assert row.count(1) >= min(source, half)
    assert row.count(2) >= min(target, half)
    assert tuple(row[begin - between : begin]) == separator
    assert (row[-1] == END) == (END in row)
    assert END not in row or row.count(2) == target
    assert END in row or not whole


def test_sequences_fit_the_positions_of_the_model(tiny_gpt2):
    generator = load_causal(tiny_gpt2, separator=None, lower_case=True)
    pairs = text_pairs(["word " * 300, "a b"], ["other " * 300, "c d"])
    data = sequences_of(generator, pairs, longest=1024)
    assert data.lengths[0] == generator.positions == 128
    assert data.cut == 1
    assert generator.tokens("C D") == data.tokens[data.starts[1] + data.targets[1] : -1].tolist()


@given(st.lists(st.integers(1, 300), max_size=200), st.integers(1, 16), st.integers(0, 3))
def test_a_bucketed_order_is_a_permutation(lengths, batch, epoch):
    order = bucketed_order(np.array(lengths, dtype=np.int64), batch, seed=0, epoch=epoch)
    assert sorted(order.tolist()) == list(range(len(lengths)))


def padding(lengths: np.ndarray, order: np.ndarray, batch: int) -> float:
    """The share of a padded batch that is padding, over all batches."""
    rows = [lengths[order[i : i + batch]] for i in range(0, len(order), batch)]
    return 1 - lengths.sum() / sum(len(row) * row.max() for row in rows)


def test_buckets_cut_the_padding_and_differ_between_epochs():
    random = stream(0, "lengths")
    lengths = np.maximum(random.lognormal(3.5, 0.6, 2003).astype(np.int64), 5)
    first, second = (bucketed_order(lengths, 16, seed=0, epoch=epoch) for epoch in (0, 1))
    assert padding(lengths, random.permutation(len(lengths)), 16) > 0.4
    assert padding(lengths, first, 16) < 0.15
    batches = [
        {frozenset(order[i : i + 16].tolist()) for i in range(0, 2000, 16)} for order in (first, second)
    ]
    assert len(batches[0] & batches[1]) < 10
    # Long and short batches take turns: an epoch does not go from short texts to long ones.
    means = [lengths[first[i : i + 16]].mean() for i in range(0, 2000, 16)]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.3


@given(st.lists(st.integers(1, 100), min_size=1, max_size=40), st.integers(1, 300))
def test_chunks_are_all_rows_within_bounds(lengths, most):
    found = chunks(np.array(lengths), most)
    assert sorted(np.concatenate(found).tolist()) == list(range(len(lengths)))
    for places in found:
        longest = max(lengths[place] for place in places)
        assert len(places) == 1 or len(places) * longest <= most


def test_padded_rows_are_the_sequences(tiny_gpt2):
    generator = load_causal(tiny_gpt2, separator=None, lower_case=True)
    data = sequences_of(generator, copies(9), longest=128)
    rows = np.array([4, 0, 8])
    tokens, predicted = padded(data, rows, whole=False)
    for row, line, counts in zip(rows, tokens.numpy(), predicted.numpy(), strict=True):
        length = data.lengths[row]
        assert line[:length].tolist() == data.tokens[data.starts[row] : data.starts[row + 1]].tolist()
        assert np.flatnonzero(counts).tolist() == list(range(data.targets[row], length))


def test_both_directions_of_a_pair_are_on_the_same_side():
    texts = [f"text {i}" for i in range(200)]
    pairs = text_pairs([*texts[:100], *texts[100:]], [*texts[100:], *texts[:100]])
    learnt, held = pairs.split(0.1, seed=0)
    assert (len(learnt), len(held)) == (180, 20)
    assert not set(learnt.sources.to_pylist()) & set(held.targets.to_pylist())
    again = pairs.split(0.1, seed=0)[1]
    assert again.sources.equals(held.sources)
    assert not pairs.split(0.1, seed=1)[1].sources.equals(held.sources)


@pytest.mark.parametrize("count", [0, 1, FEWEST_TO_HOLD_OUT - 1])
def test_of_few_pairs_none_is_held_out(count):
    texts = [str(i) for i in range(count)]
    learnt, held = text_pairs(texts, texts).split(0.5, seed=0)
    assert (len(learnt), len(held)) == (count, 0)


def test_sides_of_different_length_are_refused():
    with pytest.raises(ValueError, match="2 sources, but 1 targets"):
        text_pairs(["a", "b"], ["c"])
