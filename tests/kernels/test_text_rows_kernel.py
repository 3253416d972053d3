"""Texts to weighted words and pieces in one call, against plain Python."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.data.dataset import frozen
from tailwright.data.text.words import WordTable, readable, split_words
from tailwright.encoders.subwords import cut_word
from tailwright.kernels.text_rows import weigh_words, weigh_words_and_pieces

# Letters of one to four bytes, one that grows when it is lower-cased, and what stands between words.
texts_of_few_letters = st.lists(st.text(alphabet="abAé日𐐀Ⱥ_ -", max_size=20), max_size=6)


def plain_row(known: list[str], said: list[str], idf: np.ndarray, sublinear: bool) -> dict[int, float]:
    """The plain twin: column -> weight of what a text says that is known."""
    counts = Counter(known.index(one) for one in said if one in known)
    raw = {c: (1 + math.log(n) if sublinear else n) * idf[c] for c, n in counts.items()}
    norm = math.sqrt(sum(weight**2 for weight in raw.values()))
    return {column: weight / norm for column, weight in raw.items()}


@given(texts=texts_of_few_letters, length=st.sampled_from([0, 2, 4]), sublinear=st.booleans())
def test_words_and_pieces_agree_with_python(texts: list[str], length: int, sublinear: bool) -> None:
    said = [split_words(text) for text in texts]
    cut = [[piece for word in words for piece in cut_word(word, length)] for words in said]
    words = sorted({word for row in said for word in row})[::2]  # every second one is unknown
    pieces = sorted({piece for row in cut for piece in row})[::2]
    idf, piece_idf = frozen(np.linspace(1, 9, len(words))), np.linspace(2, 7, len(pieces))
    offsets, values = readable(texts)
    reading = (values, offsets, 0, len(texts), *WordTable(words).reading, idf, sublinear)
    of_words = weigh_words(*reading)
    of_both = weigh_words_and_pieces(*reading, *WordTable(pieces).index, piece_idf, length, np.float32(0.7))
    starts = [[0, *ends.tolist()] for *_, ends in (of_words, of_both)]
    for row in range(len(texts)):
        left = plain_row(words, said[row], idf, sublinear)
        right = plain_row(pieces, cut[row], piece_idf, sublinear=True)
        both = left | {len(words) + column: 0.7 * weight for column, weight in right.items()}
        for expected, (columns, weights, _), place in zip(
            (left, both), (of_words, of_both), starts, strict=True
        ):
            here = slice(place[row], place[row + 1])
            assert columns[here].tolist() == sorted(expected)
            assert weights[here] == pytest.approx([expected[c] for c in sorted(expected)], abs=1e-6)


def test_a_block_in_the_middle_is_read_as_it_is_among_all() -> None:
    offsets, values = readable(["hats", "a red hat", "red red", ""])
    words, pieces = WordTable(["hat", "red"]), WordTable(["<hat", "hat>", "hats"])
    tables = (*words.reading, frozen(np.ones(2)), True, *pieces.index, np.ones(3), 4, np.float32(0.5))
    whole = weigh_words_and_pieces(values, offsets, 0, 4, *tables)
    inside = weigh_words_and_pieces(values, offsets, 1, 3, *tables)
    assert whole[2].tolist() == [2, 6, 7, 7]
    assert inside[2].tolist() == [4, 5]
    for one, all_of_them in zip(inside[:2], whole[:2], strict=True):
        assert one.tolist() == all_of_them[2:7].tolist()
