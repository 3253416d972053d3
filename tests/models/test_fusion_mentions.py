"""Which candidates stand in a text: equal to a plain reading, and of use where texts name their labels."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.data.corpus import LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.data.text.words import split_words
from tailwright.errors import InputError
from tailwright.models.fusion.mentions import Mentions, no_mentions
from tailwright.store import open_folder, writing


def space(texts: list[str]) -> LabelSpace:
    return LabelSpace(arrow_strings([f"id{i}" for i in range(len(texts))]), texts=arrow_strings(texts))


def features(mentions: Mentions, texts: list[str], pairs: list[tuple[int, int]]) -> np.ndarray:
    rows, labels = np.array(pairs).T
    return mentions.within(texts)(rows.astype(np.int64), labels.astype(np.int32))


def plainly(text: str, label: str) -> list[float]:
    """The same by lists of words."""
    words, wanted = split_words(text), split_words(label)
    ends = range(len(words) - len(wanted) + 1) if wanted else ()
    found = [at for at in ends if words[at : at + len(wanted)] == wanted]
    return [1, math.log(1 + len(found)), 1 - found[0] / len(words)] if found else [0, 0, 0]


short_texts = st.lists(st.sampled_from(["new", "York", "NEW", "a", "été", "-"]), max_size=7).map(" ".join)


@given(st.lists(short_texts, min_size=1, max_size=4), st.lists(short_texts, min_size=1, max_size=4))
def test_the_kernel_equals_the_plain_form(texts, labels):
    pairs = [(row, label) for row in range(len(texts)) for label in range(len(labels))]
    found = features(Mentions.of_labels(space(labels)), texts, pairs)
    expected = [plainly(texts[row], labels[label]) for row, label in pairs]
    np.testing.assert_allclose(found, np.array(expected, np.float32), rtol=1e-6)


def test_only_whole_words_side_by_side_are_a_mention():
    labels = ["New York", "york", "ork", ""]
    found = features(Mentions.of_labels(space(labels)), ["the York of new york"], [(0, i) for i in range(4)])
    assert found[:, 0].tolist() == [1, 1, 0, 0]
    assert np.expm1(found[:, 1]).round().tolist() == [1, 2, 0, 0]
    assert found[:, 2].tolist() == pytest.approx([1 - 3 / 5, 1 - 1 / 5, 0, 0])


def test_labels_that_come_later_are_found_as_if_they_had_been_there():
    first, later = ["red hat", "shoe"], ["a hat", "red", "über shoe"]
    grown = Mentions.of_labels(space(first)).with_more_labels(space(later))
    together = Mentions.of_labels(space(first + later))
    texts = ["A red hat, a hat, an über shoe"]
    pairs = [(0, label) for label in range(5)]
    assert features(grown, texts, pairs).tolist() == features(together, texts, pairs).tolist()


def test_a_saved_table_gives_the_same(tmp_path: Path):
    mentions = Mentions.of_labels(space(["red hat", "shoe"]))
    with writing(tmp_path / "m", kind="test") as folder:
        mentions.save(folder)
    loaded = Mentions.load(open_folder(tmp_path / "m", kind="test"), 2)
    pairs = [(0, 0), (0, 1)]
    assert (
        features(loaded, ["my red hat"], pairs).tolist() == features(mentions, ["my red hat"], pairs).tolist()
    )


@pytest.mark.parametrize(
    ("ids", "offsets"), [([0, 7], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 2, 1]), ([0, 1], [1, 1, 2])]
)
def test_a_table_that_lies_is_refused(tmp_path: Path, ids, offsets):
    lying = Mentions(arrow_strings(["hat", "shoe"]), np.array(ids, np.int32), np.array(offsets, np.int64))
    with writing(tmp_path / "m", kind="test") as folder:
        lying.save(folder)
    with pytest.raises(InputError, match="words outside their table"):
        Mentions.load(open_folder(tmp_path / "m", kind="test"), 2)


def test_without_texts_nothing_is_mentioned():
    assert not no_mentions(np.zeros(3, np.int64), np.zeros(3, np.int32)).any()
