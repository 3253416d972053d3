"""Blanks in texts: how many words they hide, and that nothing is lost."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.language.masking import MaskedText, Words, drawn_blanks, merged
from tailwright.streams import stream

TEXTS = st.text(st.sampled_from("ab Zé9-'’_,.;()!日🙂\u0301\t\n "), max_size=60)


def masked(text: str, share: float, seed: int = 0) -> MaskedText:
    words = Words.of(text)
    return MaskedText(words, drawn_blanks(len(words), share, stream(seed, "masks")))


def whole(segments: list[str], values: list[str]) -> str:
    """Source and target put together again, without white space."""
    parts = [part for pair in zip(segments, [*values, ""], strict=True) for part in pair]
    return "".join("".join(parts).split())


@given(TEXTS, st.floats(0, 1), st.integers(0, 20))
def test_source_and_target_reconstruct_the_text(text, share, seed):
    given_text = masked(text, share, seed)
    everything = range(len(given_text.blanks))
    assert str(given_text) == " ".join(text.split())
    assert whole(given_text.segments(everything), given_text.values) == "".join(text.split())


@given(TEXTS, st.floats(0, 1), st.integers(0, 20))
def test_the_share_of_the_words_is_masked_rounded_down(text, share, seed):
    given_text = masked(text, share, seed)
    hidden = sum(end - start for start, end in given_text.blanks)
    assert hidden == int(share * len(given_text.words))


@given(st.lists(st.booleans(), max_size=30))
def test_masked_words_side_by_side_are_one_blank(hidden):
    runs = merged(np.flatnonzero(hidden).tolist())
    assert [place for start, end in runs for place in range(start, end)] == np.flatnonzero(hidden).tolist()
    assert all(end < start for (_, end), (start, _) in pairwise(runs))


@pytest.mark.parametrize(("words", "expected"), [(0, 0), (6, 0), (7, 1), (13, 1), (14, 2), (100, 15)])
def test_a_text_of_fewer_than_seven_words_has_no_blank(words, expected):
    blanks = drawn_blanks(words, 0.15, stream(0, "masks"))
    assert sum(end - start for start, end in blanks) == expected


def test_every_word_is_masked_equally_often():
    counts = np.zeros(20)
    for draw in range(2000):
        for start, end in drawn_blanks(20, 0.15, stream(0, "masks", draw)):
            counts[start:end] += 1
    assert counts.sum() == 2000 * 3
    assert np.abs(counts - 300).max() < 80


def test_punctuation_is_a_word_and_keeps_its_place():
    words = Words.of("A red, old  car (nearly new).")
    assert words.words == ("A", "red", ",", "old", "car", "(", "nearly", "new", ").")
    text = MaskedText(words, [(1, 2), (6, 8)])
    assert text.segments([0, 1]) == ["A", ", old car (", ")."]
    assert text.values == ["red", "nearly new"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [("blue", "A blue, old car"), ("", "A, old car"), ("  dark  blue ", "A dark blue, old car")],
)
def test_what_is_filled_in_stands_where_the_words_stood(value, expected):
    text = MaskedText(Words.of("A red, old car"), [(1, 2)])
    text.put([0], [value])
    assert str(text) == expected


def test_an_accent_belongs_to_its_letter():
    assert Words.of("cafe\u0301 d'e\u0301te\u0301").words == ("cafe\u0301", "d'e\u0301te\u0301")


def test_letters_never_run_together():
    text = MaskedText(Words.of("red,old"), [(1, 2)])
    text.put([0], ["and"])
    assert str(text) == "red and old"
    text.put([0], [""])
    assert str(text) == "red old"


def test_blanks_that_are_not_asked_for_hold_their_values():
    text = MaskedText(Words.of("a b c d e"), [(0, 1), (2, 3), (4, 5)])
    text.put([1], ["C"])
    assert text.segments([0, 2]) == ["", "b C d", ""]
