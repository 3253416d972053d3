"""BLEU on held-out pairs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tailwright.augmentation.shared.generating import corpus_bleu, held_out_bleu

sys.path.insert(0, str(Path(__file__).parent))
from tiny_tuning import text_pairs


def test_equal_texts_have_all_and_others_nothing():
    text = "the quick brown fox jumps over the dog"
    assert corpus_bleu([text], [text]) == pytest.approx(100)
    assert corpus_bleu([""], [text]) == 0


def test_a_known_value():
    # Shares of 1- to 4-grams that are in the target; both are of the same length.
    expected = 100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    assert corpus_bleu(["the cat sat on a mat"], ["the cat sat on the mat"]) == pytest.approx(expected)


def test_it_asks_for_texts_of_held_out_sources():
    pairs = text_pairs([f"s{i}" for i in range(30)], ["The Cat sat on the mat"] * 30)
    asked = []

    def write(sources):
        asked.extend(sources.to_pylist())
        return ["the cat sat on the mat"] * len(sources)

    assert held_out_bleu(pairs, write, lower_case=True, most=10) == pytest.approx(100)
    assert len(set(asked)) == 10
    assert held_out_bleu(pairs, write, lower_case=False) < 90
    assert held_out_bleu(text_pairs([], []), write, lower_case=True) is None
    with pytest.raises(ValueError, match="0 texts written for 30 sources"):
        held_out_bleu(pairs, lambda _: [], lower_case=True)
