"""The word kernels against plain Python, and where Python cannot lead them: collisions and broken UTF-8."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.data.text.words import _letters, split_words, text_buffers
from tailwright.kernels.word_tables import index_words, merge_words
from tailwright.kernels.words import (
    count_words,
    learn_words,
    look_up_words,
    mark_context_letters,
)


def column(rows: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """(offsets, values) as the kernels take them."""
    return text_buffers(pa.array(rows, pa.large_binary()))


def words_of(bounds: np.ndarray, content: np.ndarray) -> list[bytes]:
    return [content[start:end].tobytes() for start, end in pairwise(bounds)]


def plain_learn(texts: list[str]) -> tuple[list[int], list[int], list[str]]:
    """The plain twin: ids in text order, row ends, words in the order they are met."""
    numbers: dict[str, int] = {}
    ids, ends = [], []
    for text in texts:
        ids += [numbers.setdefault(word, len(numbers)) for word in split_words(text)]
        ends.append(len(ids))
    return ids, ends, list(numbers)


# Rows with these two letters never reach the kernels as they are.
plain_text = st.text().map(lambda text: text.replace("\u0130", "").replace("\u03a3", ""))


@given(st.lists(plain_text))
def test_learning_agrees_with_python(texts: list[str]) -> None:
    offsets, values = column([text.encode() for text in texts])
    ids, ends, _, bounds, content = learn_words(values, offsets, 0, len(texts), *_letters())
    plain_ids, plain_ends, plain_words = plain_learn(texts)
    assert ids.tolist() == plain_ids
    assert ends.tolist() == plain_ends
    assert [word.decode() for word in words_of(bounds, content)] == plain_words


@given(st.lists(plain_text))
def test_look_up_agrees_with_python(texts: list[str]) -> None:
    plain_ids, plain_ends, plain_words = plain_learn(texts)
    known = plain_words[::2]  # every second word is unknown
    bounds, content = column([word.encode() for word in known])
    slots, keys, twice = index_words(bounds, content)
    offsets, values = column([text.encode() for text in texts])
    ids, ends = look_up_words(values, offsets, 0, len(texts), *_letters(), slots, keys, bounds, content)
    assert twice == -1
    assert ids.tolist() == [i // 2 if i % 2 == 0 else -1 for i in plain_ids]
    assert ends.tolist() == plain_ends


@pytest.mark.parametrize(
    "word", ["a" * n for n in (1, 7, 8, 9, 10, 16, 17, 300)] + ["ßabcdefg", "日本語テキスト"]
)
def test_words_of_any_length_are_found_and_nearly_equal_ones_are_not(word: str) -> None:
    others = [word[:-1], word + "a", "b" + word, "b" + word[1:], word[:-1] + "b"]
    bounds, content = column([word.encode()])
    slots, keys, _ = index_words(bounds, content)
    offsets, values = column([word.upper().replace("SS", "ẞ").encode(), " ".join(others).encode()])
    ids, _ = look_up_words(values, offsets, 0, 2, *_letters(), slots, keys, bounds, content)
    assert ids[0] == 0
    assert set(ids[1:].tolist()) == {-1}


def test_a_table_that_grows_many_times_keeps_every_word() -> None:
    rows = [f"w{i} w{i // 2}".encode() for i in range(20_000)]
    offsets, values = column(rows)
    ids, _, _, bounds, content = learn_words(values, offsets, 0, len(rows), *_letters())
    words = words_of(bounds, content)
    assert len(words) == len(set(words)) == 20_000
    assert [words[i] for i in ids] == b" ".join(rows).split()


def test_long_words_with_the_same_key_stay_apart() -> None:
    old_bounds, old_content = column([b"first word", b"other word"])
    new_bounds, new_content = column([b"other word", b"third word", b"first word", b"longer than those"])
    same = np.full(4, 7, dtype=np.uint64)
    writeable = (same[:2].copy(), old_bounds.copy(), old_content.copy())
    keys, bounds, content, numbers = merge_words(*writeable, same, new_bounds, new_content)
    assert words_of(bounds, content) == [b"first word", b"other word", b"third word", b"longer than those"]
    assert numbers.tolist() == [1, 2, 0, 3]
    assert keys.tolist() == [7] * 4


def test_a_long_word_with_the_key_of_a_short_one_stays_apart() -> None:
    bounds, content = column([b"abc", b"abcdefghijk"])
    key = index_words(bounds, content)[1][:1]
    old_bounds, old_content = column([b"abc"])
    new_bounds, new_content = column([b"abcdefghijk"])
    writeable = (key.copy(), old_bounds.copy(), old_content.copy())
    assert merge_words(*writeable, key, new_bounds, new_content)[3].tolist() == [1]


@pytest.mark.parametrize(
    "broken",
    [b"ab\xe2", b"ab\xe2\x82", b"ab\xf0\x9f\x98", b"ab\xff\xff", b"ab\x80\x80", b"ab\xf7\xbf\xbf\xbf"],
)
def test_broken_utf8_ends_a_word_and_reads_no_other_row(broken: bytes) -> None:
    rows = [broken, b"\x82\xaccd", b"ef"]
    offsets, values = column(rows)
    ids, ends, _, bounds, content = learn_words(values, offsets, 0, 3, *_letters())
    assert words_of(bounds, content) == [b"ab", b"cd", b"ef"]
    assert ends.tolist() == [1, 2, 3]
    assert ids.tolist() == [0, 1, 2]


def test_indexing_names_the_first_word_that_is_there_twice() -> None:
    bounds, content = column([b"a", b"b", b"a", b"b"])
    assert index_words(bounds, content)[2] == 2


@given(st.lists(st.text(alphabet="aé\u0130\u03a3\u0131\u03a4\u4e30")))
def test_context_letters_are_found_in_their_rows(texts: list[str]) -> None:
    offsets, values = column([text.encode() for text in texts])
    marks = np.zeros(len(texts), dtype=bool)
    expected = ["\u0130" in text or "\u03a3" in text for text in texts]
    assert mark_context_letters(values, offsets, 0, len(texts), marks) == sum(expected)
    assert marks.tolist() == expected


@given(st.lists(st.lists(st.integers(-1, 5))))
def test_word_counts_agree_with_python(rows: list[list[int]]) -> None:
    ids = np.array([word for row in rows for word in row], dtype=np.int32)
    offsets = np.cumsum([0, *map(len, rows)])
    documents, occurrences = count_words(ids, offsets, 0, len(rows), 6)
    plain_documents = Counter(word for row in rows for word in set(row))
    plain_occurrences = Counter(ids.tolist())
    assert documents.tolist() == [plain_documents[word] for word in range(6)]
    assert occurrences.tolist() == [plain_occurrences[word] for word in range(6)]
