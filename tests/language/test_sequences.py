"""Sequences of tokens: their layout, how they are cut, and how they are padded."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.language.causal import load_causal
from tailwright.language.pairs import FEWEST_TO_HOLD_OUT, _sequence, padded, sequences_of

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
