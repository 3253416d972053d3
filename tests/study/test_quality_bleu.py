"""BLEU over words is sacrebleu's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from tailwright.study.quality.bleu import self_bleu

SACREBLEU = BLEU(tokenize="none", effective_order=True)
texts = st.lists(st.lists(st.integers(0, 5), max_size=9), min_size=2, max_size=6)


def sacrebleu_self(rows: list[list[int]]) -> float:
    """Each text against all others, one call of sacrebleu each."""
    lines = [" ".join(f"w{word}" for word in row) for row in rows]
    scores = [
        SACREBLEU.sentence_score(line, lines[:place] + lines[place + 1 :]).score
        for place, line in enumerate(lines)
    ]
    return sum(scores) / len(scores)


@given(texts)
def test_self_bleu_is_the_mean_of_sacrebleu_against_all_others(rows):
    assert self_bleu(rows) == pytest.approx(sacrebleu_self(rows))


def test_equal_texts_have_self_bleu_100_and_texts_without_a_shared_word_0():
    assert self_bleu([[1, 2, 3, 4, 5]] * 3) == pytest.approx(100)
    assert self_bleu([[1, 2, 3], [4, 5, 6]]) == 0


def test_self_bleu_needs_two_texts():
    assert self_bleu([]) is None
    assert self_bleu([[1, 2]]) is None
    assert self_bleu([[], []]) == 0
