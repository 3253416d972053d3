"""N-grams of rows: equal to plain Python over lists of words."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.kernels.similarity import distinct_in_rows, matched_words, number_ngrams, shared_ngrams

# Few different words, so that rows share and repeat them.
rows_of_words = st.lists(st.lists(st.integers(0, 4), max_size=12), max_size=6)


def columns(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return np.array([word for row in rows for word in row], dtype=np.int32), offsets


def plain_ngrams(words: list[int], n: int) -> list[tuple[int, ...]]:
    return [tuple(words[at : at + n]) for at in range(len(words) - n + 1)]


def numbered(rows: list[list[int]], n: int) -> tuple[np.ndarray, int]:
    """The n-grams of all rows, made of those of n - 1 words, and so on down to words."""
    words, offsets = columns(rows)
    ids, distinct = words, len(set(words.tolist()))
    for order in range(2, n + 1):
        ids, distinct = number_ngrams(ids, words, offsets, order)
    return ids, distinct


@given(rows_of_words, st.integers(2, 4))
def test_the_same_words_have_the_same_number_and_others_another(rows, n):
    ids, distinct = numbered(rows, n)
    _, offsets = columns(rows)
    number_of: dict[tuple[int, ...], int] = {}
    for row, start in zip(rows, offsets, strict=False):
        ngrams = plain_ngrams(row, n)
        for at, ngram in enumerate(ngrams):
            assert number_of.setdefault(ngram, int(ids[start + at])) == ids[start + at]
        assert (ids[start + len(ngrams) : start + len(row)] == -1).all()
    assert sorted(number_of.values()) == list(range(distinct))


def test_a_table_that_has_to_grow_keeps_its_numbers():
    random = np.random.default_rng(0)
    rows = [random.integers(0, 3000, 50).tolist() for _ in range(200)]
    ids, distinct = numbered(rows, 2)
    assert distinct == len({pair for row in rows for pair in plain_ngrams(row, 2)}) > 1024
    assert len(np.unique(ids[ids >= 0])) == distinct


@given(rows_of_words, st.integers(1, 4))
def test_different_ngrams_of_each_row(rows, n):
    found = np.empty(len(rows), dtype=np.int64)
    distinct_in_rows(numbered(rows, n)[0], columns(rows)[1], n, found)
    assert found.tolist() == [len(set(plain_ngrams(row, n))) for row in rows]


@given(rows_of_words.filter(bool), st.integers(1, 4), st.data())
def test_shared_ngrams_and_matched_words_are_those_of_plain_python(rows, n, data):
    pairs = data.draw(st.lists(st.tuples(*[st.integers(0, len(rows) - 1)] * 2), max_size=6))
    first, second = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    words, offsets = columns(rows)
    copied, clipped, shared, matched = np.empty((4, len(pairs)), dtype=np.int64)
    shared_ngrams(numbered(rows, n)[0], offsets, n, first, second, copied, clipped)
    shared_ngrams(words, offsets, 1, first, second, np.empty_like(shared), shared)
    matched_words(words, offsets, first, second, shared, matched)
    for place, (a, b) in enumerate(pairs):
        own, others = Counter(plain_ngrams(rows[a], n)), Counter(plain_ngrams(rows[b], n))
        assert copied[place] == sum(count for ngram, count in own.items() if ngram in others)
        assert clipped[place] == (own & others).total()
        matcher = SequenceMatcher(None, rows[a], rows[b], autojunk=False)
        assert matched[place] == sum(block.size for block in matcher.get_matching_blocks())


@pytest.mark.parametrize("threads", [1, 2])
def test_the_number_of_threads_makes_no_difference(threads):
    random = np.random.default_rng(1)
    rows = [random.integers(0, 20, random.integers(0, 40)).tolist() for _ in range(60)]
    words, offsets = columns(rows)
    first, second = np.arange(60), np.arange(60)[::-1].copy()
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(min(threads, before))
        copied, clipped, matched = np.empty((3, 60), dtype=np.int64)
        shared_ngrams(words, offsets, 1, first, second, copied, clipped)
        matched_words(words, offsets, first, second, clipped, matched)
    finally:
        numba.set_num_threads(before)
    plain = [
        sum(b.size for b in SequenceMatcher(None, rows[a], rows[b], autojunk=False).get_matching_blocks())
        for a, b in zip(first, second, strict=True)
    ]
    assert matched.tolist() == plain
