"""The word vocabulary of sequence models."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.data.text.vocabulary import UNKNOWN, WordVocabulary, WordVocabularySettings
from tailwright.data.text.words import split_words
from tailwright.store import DamagedFolderError, open_folder, writing


def plain_encode(words: list[str], text: str, max_length: int) -> list[int]:
    """The plain twin: ids of one text."""
    numbers = {word: number for number, word in enumerate(words, start=2)}
    return [numbers.get(word, 1) for word in split_words(text)][:max_length] or [1]


@given(st.lists(st.text()), st.lists(st.text()), st.integers(1, 4))
def test_ids_agree_with_python(train: list[str], texts: list[str], max_length: int) -> None:
    vocabulary = WordVocabulary.build(train)
    documents = Counter(word for text in train for word in set(split_words(text)))
    words = sorted(documents, key=lambda word: (-documents[word], word))
    assert vocabulary.vocabulary.to_pylist() == words
    batch = vocabulary.rows(texts, max_length).padded()
    rows = [plain_encode(words, text, max_length) for text in texts]
    longest = max(map(len, rows), default=0)
    assert batch.ids.shape == (len(texts), longest)
    assert batch.ids.tolist() == [row + [0] * (longest - len(row)) for row in rows]
    assert batch.lengths.tolist() == [len(row) for row in rows]


def test_words_are_ordered_by_document_frequency_not_by_occurrences() -> None:
    vocabulary = WordVocabulary.build(["rare rare rare rare", "common b", "common a"])
    assert vocabulary.vocabulary.to_pylist() == ["common", "a", "b", "rare"]


def test_max_words_counts_the_two_reserved_ids() -> None:
    vocabulary = WordVocabulary.build(["a b c", "a b", "a"], WordVocabularySettings(max_words=4))
    assert vocabulary.vocabulary.to_pylist() == ["a", "b"]
    assert vocabulary.size == 4


def test_min_count_is_a_document_frequency() -> None:
    vocabulary = WordVocabulary.build(["a a a", "b", "b"], WordVocabularySettings(min_count=2))
    assert vocabulary.vocabulary.to_pylist() == ["b"]


def test_long_texts_are_cut_and_short_ones_padded_to_the_longest() -> None:
    batch = WordVocabulary.build(["a b c d"]).rows(["a b c d", "d", "", "x a"], max_length=3).padded()
    assert batch.ids.tolist() == [[2, 3, 4], [5, 0, 0], [1, 0, 0], [1, 2, 0]]
    assert batch.lengths.tolist() == [3, 1, 1, 2]
    assert (batch.ids.dtype, batch.lengths.dtype) == (np.int32, np.int32)


def test_no_texts_make_an_empty_batch() -> None:
    batch = WordVocabulary.build(["a"]).rows([], max_length=3).padded()
    assert batch.ids.shape == (0, 0)
    assert len(batch) == 0


def test_a_vocabulary_of_no_words_knows_only_the_reserved_ids() -> None:
    vocabulary = WordVocabulary.build([])
    assert (vocabulary.size, vocabulary.padding_id, UNKNOWN) == (2, 0, 1)
    assert vocabulary.rows(["a b"], max_length=5).padded().ids.tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_words": 1}, "max_words must be >= 2, got 1"),
        ({"min_count": 0}, "min_count must be >= 1, got 0"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WordVocabularySettings(**settings)


def test_a_length_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="max_length must be >= 1, got 0"):
        WordVocabulary.build(["a"]).rows(["a"], max_length=0).padded()


def test_saving_keeps_words_and_order(tmp_path: Path) -> None:
    vocabulary = WordVocabulary.build(["b a ΟΔΟΣ", "b"])
    with writing(tmp_path / "run", kind="run") as folder:
        vocabulary.save(folder)
    loaded = WordVocabulary.load(open_folder(tmp_path / "run", kind="run"))
    assert loaded.vocabulary.equals(vocabulary.vocabulary)
    assert loaded.rows(["ΟΔΟΣ b"], 9).padded().ids.tolist() == [[4, 2]]


def test_a_saved_word_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with writing(tmp_path / "run", kind="run") as folder:
        WordVocabulary(["a", "a"]).save(folder)
    with pytest.raises(DamagedFolderError, match="the vocabulary has 'a' twice"):
        WordVocabulary.load(open_folder(tmp_path / "run", kind="run"))
