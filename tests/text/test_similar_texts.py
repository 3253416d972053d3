"""`similar_above` decides as difflib does, whatever it does not look at."""

from __future__ import annotations

from difflib import SequenceMatcher

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.data.dataset import arrow_strings
from tailwright.data.text.similarity import similar_above, similar_pairs, words_needed
from tailwright.kernels.similarity import match_at_least
from tailwright.streams import stream

RATIOS = (0.0, 0.3, 0.5, 0.75, 0.9, 0.95)


def by_difflib(a: list[str], b: list[str]) -> float:
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


def random_pair(number: int) -> tuple[list[str], list[str]]:
    """Two texts over a small or large vocabulary; every other pair differs in a few words only."""
    draw = stream(0, "random-pairs", number)
    vocabulary = int(draw.choice([2, 5, 30, 300]))
    a = [f"w{i}" for i in draw.integers(vocabulary, size=draw.integers(0, 60))]
    if number % 2:
        return a, [f"w{i}" for i in draw.integers(vocabulary, size=draw.integers(0, 60))]
    b = list(a)
    for _ in range(draw.integers(0, 6)):
        at = int(draw.integers(len(b) + 1))
        edit = draw.integers(4)
        if edit == 0:
            b.insert(at, f"w{draw.integers(vocabulary)}")
        elif edit == 1 and at < len(b):
            del b[at]
        elif edit == 2:
            b = b[at:] + b[:at]
        elif at < len(b):
            b[at] = "new"
    return a, b


def test_ten_thousand_random_pairs_are_judged_as_by_difflib():
    decided = {ratio: [0, 0] for ratio in RATIOS}
    for number in range(10_000):
        a, b = random_pair(number)
        truth = by_difflib(a, b)
        for ratio in RATIOS:
            assert similar_above(a, b, ratio) is (truth > ratio), (a, b, ratio)
            decided[ratio][truth > ratio] += 1
    assert all(min(counts) > 500 for counts in decided.values()), decided


words = st.lists(st.sampled_from("abcdef"), max_size=14)


@given(words, words)
def test_a_ratio_on_the_border_is_not_above_it(a, b):
    truth = by_difflib(a, b)
    assert not similar_above(a, b, truth)
    assert similar_above(a, b, np.nextafter(truth, -1))


@given(words, words)
def test_the_kernel_counts_as_many_matches_as_difflib(a, b):
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    matches = sum(block.size for block in blocks)
    first, second = (np.array([ord(w) - ord("a") for w in side], dtype=np.int32) for side in (a, b))
    assert match_at_least(first, second, 6, matches)
    assert not match_at_least(first, second, 6, matches + 1)


def test_the_order_of_the_two_texts_may_matter_as_in_difflib():
    a, b = next((a, b) for a, b in map(random_pair, range(10_000)) if by_difflib(a, b) > by_difflib(b, a))
    between = by_difflib(b, a)
    assert similar_above(a, b, between)
    assert not similar_above(b, a, between)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("", "", True),
        ("", "word", False),
        ("word", "word", True),
        ("日本語 テキスト", "日本語 テキスト", True),
        ("one two three", "three two one", False),
        ("x " * 300, "x " * 300, True),  # difflib would call the word junk by default
    ],
)
def test_empty_equal_and_turned_texts(a, b, expected):
    assert similar_above(a.split(), b.split(), 0.95) is expected


def test_nothing_is_above_a_ratio_of_one():
    assert not similar_above(["a"], ["a"], 1.0)
    assert not similar_above([], [], 1.0)


@given(st.integers(0, 500), st.floats(0, 1))
def test_the_words_needed_are_the_fewest_whose_ratio_is_above(total, ratio):
    needed = words_needed(total, ratio)
    above = [m for m in range(total // 2 + 1) if (2.0 * m / total if total else 1.0) > ratio]
    assert needed == (above[0] if above else total // 2 + 1)


@pytest.mark.parametrize("ratio", [0.5, 0.95])
def test_many_pairs_at_once_are_judged_as_one_by_one(ratio):
    pairs = [random_pair(number) for number in range(400)]
    texts = arrow_strings([" ".join(words) for pair in pairs for words in pair])
    first, second = np.arange(0, 800, 2), np.arange(1, 800, 2)
    found = similar_pairs(texts, first, second, ratio, workers=2).tolist()
    assert found == [similar_above(a, b, ratio) for a, b in pairs]
    assert 40 < sum(found) < 360
    assert len(similar_pairs(texts, first[:0], second[:0], ratio)) == 0


def test_texts_without_a_word_are_the_same():
    assert similar_pairs(
        arrow_strings(["", "  ", "a"]), np.array([0, 0]), np.array([1, 2]), 0.95
    ).tolist() == [
        True,
        False,
    ]
