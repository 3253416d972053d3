r"""Words of texts: every way must give what `re.findall(r"\w+", text.lower())` gives."""

from __future__ import annotations

import re
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.data.text import blocks
from tailwright.data.text.words import LETTERS_END, Tokens, WordTable, split_words, tokenise, word_counts

TEXTS = [
    "",
    "a",
    " ",
    "Zero waste HOME: the ultimate guide",
    "snake_case _ __init__",
    "naïve café CAFÉ cafe\u0301",  # a combining accent is no word character
    "İstanbul ISTANBUL ı İİ",  # U+0130 lower-cases to two code points
    "ΟΔΟΣ ΣΑΣ Σ ΑΣ. ΑΣΑ 'ΑΣ'Α",  # final sigma depends on what follows
    "Σİ",
    "ΤΈΛΟΣ ὈΔΥΣΣΕΎΣ",
    "١٢٣ ४५६ 𝟙𝟚 ²³ ½ Ⅷ",
    "日本語 テキスト 한국어 עברית العربية हिन्दी ไทย",
    "emoji 👩‍👩‍👧 🇫🇮 ok👍yes",
    "Ⱥ ẞ K Å Ω ſ ǅ ﬁ",  # lower-casing that grows, shrinks or changes script
    "𐐀𐐨 𝐀 𞤀",
    "tab\tnew\nline\rnul\x00nbsp\u00a0zwj\u200dend",
    "a\u0345b ª º _ \u203f \u2040",
    "don't l'été rock'n'roll №1 C++ C# AT&T",
]


def words_by_row(tokens: Tokens) -> list[list[str]]:
    vocabulary = tokens.vocabulary.to_pylist()
    rows = np.split(tokens.ids, tokens.offsets[1:-1]) if len(tokens) else []
    return [[vocabulary[i] for i in row] for row in rows]


def by_python(texts: list[str]) -> list[list[str]]:
    return [re.findall(r"\w+", text.lower()) for text in texts]


@pytest.mark.parametrize("text", TEXTS)
def test_one_text_is_split_as_python_does(text: str) -> None:
    (expected,) = by_python([text])
    assert split_words(text) == expected
    assert words_by_row(tokenise([text])) == [expected]


def test_a_column_is_split_as_python_does() -> None:
    assert words_by_row(tokenise(TEXTS)) == by_python(TEXTS)


@given(st.lists(st.text()))
def test_any_column_is_split_as_python_does(texts: list[str]) -> None:
    assert words_by_row(tokenise(texts)) == by_python(texts)


def test_every_code_point_is_split_as_python_does() -> None:
    points = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c <= 0xDFFF]
    texts = ["A".join(points[at : at + 64]) for at in range(0, len(points), 64)]
    assert words_by_row(tokenise(texts)) == by_python(texts)
    alone = [point for point in points if point.lower() != point]
    assert words_by_row(tokenise(alone)) == by_python(alone)


def test_the_vocabulary_is_sorted_by_code_point() -> None:
    vocabulary = tokenise(["b Z é 𐐀 ﬁ _ 1 zz z"]).vocabulary.to_pylist()
    assert vocabulary == sorted(vocabulary)
    assert len(vocabulary) == 8


@pytest.mark.parametrize("texts", [[], pa.array([], pa.large_string()), pa.array(["a b"]).slice(1)])
def test_no_rows_give_no_words(texts: list[str] | pa.Array) -> None:
    tokens = tokenise(texts)
    assert (len(tokens), len(tokens.ids), len(tokens.vocabulary)) == (0, 0, 0)
    assert tokens.offsets.tolist() == [0]


def test_ids_are_int32_and_offsets_int64() -> None:
    tokens = tokenise(["a b", "c"])
    assert (tokens.ids.dtype, tokens.offsets.dtype) == (np.int32, np.int64)


def test_a_slice_is_split_by_itself() -> None:
    whole = pa.array(TEXTS, pa.large_string())
    assert words_by_row(tokenise(whole.slice(5, 4))) == by_python(TEXTS[5:9])


def test_a_word_that_grows_when_lower_cased_has_room() -> None:
    texts = ["Ⱥ" * 50_000, "Ⱥ" * 3]
    assert words_by_row(tokenise(texts)) == by_python(texts)
    assert tokenise(texts, WordTable(["ⱥⱥⱥ"])).ids.tolist() == [-1, 0]


@pytest.fixture
def _tiny_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "SMALLEST_BLOCK", 1)


@pytest.mark.usefixtures("_tiny_blocks")
@pytest.mark.parametrize("threads", [1, 2, 3, 7, 1000])
def test_the_number_of_threads_changes_nothing(threads: int) -> None:
    texts = [f"{text} shared w{i % 11}" for i, text in enumerate(TEXTS * 3)]
    tokens = tokenise(texts, threads=threads)
    assert words_by_row(tokens) == by_python(texts)
    again = tokenise(texts, WordTable(tokens.vocabulary), threads=threads)
    assert np.array_equal(again.ids, tokens.ids)
    assert np.array_equal(again.offsets, tokens.offsets)
    documents, occurrences = word_counts(tokens, threads=threads)
    assert np.array_equal(occurrences, np.bincount(tokens.ids))
    assert documents[tokens.vocabulary.to_pylist().index("shared")] == len(texts)


@pytest.mark.usefixtures("_tiny_blocks")
def test_rows_are_cut_into_blocks_without_gap_or_overlap() -> None:
    offsets = np.array([3, 3, 10, 500, 500, 501])
    for threads in range(1, 9):
        cut = blocks.row_blocks(offsets, threads)
        assert [row for first, last in cut for row in range(first, last)] == [0, 1, 2, 3, 4]


def test_threads_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="threads must be >= 1, got 0"):
        tokenise(["a"], threads=0)


def test_words_outside_a_given_vocabulary_are_minus_one() -> None:
    tokens = tokenise(["the Red hat", "hats", ""], WordTable(["red", "hat"]))
    assert tokens.ids.tolist() == [-1, 0, 1, -1]
    assert tokens.offsets.tolist() == [0, 3, 4, 4]


def test_a_vocabulary_may_be_a_slice_or_empty() -> None:
    words = pa.array(["x", "red", "hat"], pa.large_string())
    assert tokenise(["red hat x"], WordTable(words.slice(1))).ids.tolist() == [0, 1, -1]
    assert tokenise(["red"], WordTable([])).ids.tolist() == [-1]


def test_a_vocabulary_with_a_word_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="the vocabulary has 'hat' twice"):
        WordTable(["hat", "red", "hat"])


def test_no_word_character_lies_beyond_the_table_of_letters() -> None:
    beyond = "".join(map(chr, range(LETTERS_END, 0x110000)))
    assert split_words(beyond) == []
