"""Loops of generated texts are found, cut down to their first time, and nothing else is touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.language.loops import is_looping, without_loops


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("", ""),
        ("hat hat", "hat hat"),
        ("hat hat hat", "hat"),
        ("A hat, a Hat, a hat.", "A hat."),
        ("the red hat of wool of wool of wool of", "the red hat of wool"),
        ("very very very warm and red, red, red", "very warm and red"),
        ("one two one two one two three", "one two three"),
        ("one two one two one two one three", "one two one three"),
    ],
)
def test_a_loop_is_cut_down_to_its_first_time(text, cut):
    assert without_loops(text, "a source") == cut


def test_a_loop_of_the_source_stays():
    assert without_loops("duran duran duran live live live", "Duran Duran Duran, live") == (
        "duran duran duran live"
    )


def test_a_text_whose_3_grams_mostly_occurred_earlier_loops():
    assert is_looping("a b c a b c a b c")
    assert not is_looping("a b c d a b c d")
    assert not is_looping("a a")
    assert is_looping("a a a a")


@given(st.lists(st.sampled_from("ab"), max_size=12).map(" ".join))
def test_what_is_left_has_no_loop_and_no_new_word_order(text):
    cut = without_loops(text, "")
    assert without_loops(cut, "") == cut or len(cut) < len(text)
    left = iter(text.split())
    assert all(word in left for word in cut.split())  # in the same order
    if cut == text:
        words = text.split()
        assert not any(
            words[i : i + n] == words[i + n : i + 2 * n] == words[i + 2 * n : i + 3 * n]
            for n in range(1, 5)
            for i in range(len(words) - 3 * n + 1)
        )
