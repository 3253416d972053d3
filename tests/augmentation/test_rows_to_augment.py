"""Which rows are sources of new rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tailwright.augmentation.shared.sources import SourceSettings, omitted_labels, rows_to_augment
from tailwright.data.corpus import Corpus, LabelSpace, corpus_from_lists
from tailwright.data.dataset import Dataset, Origin, arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.errors import InputError


def corpus() -> Corpus:
    """Label 0 on nine of ten rows, label 1 on three, label 2 on one."""
    ids = [[0], [0], [0], [0, 1], [0, 1], [0, 1], [0, 2], [0], [], [0]]
    lengths = [4, 5, 6, 200, 201, 7, 8, 9, 10, 0]
    return corpus_from_lists(["w " * n for n in lengths], ids, ["books", "odd, name", "books"])


def chosen(**settings: object) -> list[int]:
    return rows_to_augment(corpus(), SourceSettings(**settings)).tolist()  # type: ignore[arg-type]


def test_all_rows_are_those_of_5_to_200_words():
    assert chosen(rows="all") == [1, 2, 3, 5, 6, 7, 8]
    assert chosen(rows="all", min_words=0, max_words=10**9) == list(range(10))


def test_tail_rows_carry_a_label_of_fewer_rows():
    assert chosen(tail_below=1) == []
    assert chosen(tail_below=2) == [6]
    assert chosen(tail_below=3) == [6]
    assert chosen(tail_below=4) == [3, 5, 6]
    assert chosen() == [1, 2, 3, 5, 6, 7]  # ten labels of nine rows are rare too


def test_a_label_that_gives_no_loss_is_not_carried():
    made = corpus()
    ignored = pairs_from_lists([[2] if row == 6 else [] for row in range(10)], 3)
    made = made.with_train(replace(made.train, ignored=ignored))
    assert rows_to_augment(made, SourceSettings(tail_below=2)).tolist() == []


def test_rows_of_omitted_labels_are_left_out_by_id_name_or_share():
    assert chosen(tail_below=4, omit_labels=("1",)) == [6]
    assert chosen(tail_below=4, omit_labels=("odd, name",)) == [6]
    assert chosen(rows="all", omit_labels=("books",)) == [8]  # both labels of that name
    assert chosen(rows="all", omit_share=0.5) == [8]
    assert omitted_labels(corpus(), SourceSettings(omit_share=0.2)).tolist() == [True, True, False]
    # A label on exactly this share of the rows stays.
    assert omitted_labels(corpus(), SourceSettings(omit_share=0.3)).tolist() == [True, False, False]


def test_an_unknown_label_is_named():
    with pytest.raises(
        InputError, match="omit_labels: no label 'nonsense', expected the id or name of a label"
    ):
        chosen(omit_labels=("nonsense",))


def test_a_share_is_drawn_by_the_seed_and_nested():
    labels = LabelSpace.numbered(1)
    texts = arrow_strings(["a b c d e"] * 2000)
    many = Corpus(Dataset(texts, pairs_from_lists([[0]] * 2000, 1)), labels)
    quarter, half = (rows_to_augment(many, SourceSettings(rows=share), seed=3) for share in (0.25, 0.5))
    assert set(quarter) < set(half)
    assert abs(len(quarter) - 500) < 60
    assert abs(len(half) - 1000) < 80
    assert half.tolist() != rows_to_augment(many, SourceSettings(rows=0.5), seed=4).tolist()
    assert len(rows_to_augment(many, SourceSettings(rows=1.0))) == 2000


def test_rows_that_a_method_made_are_no_sources():
    made = corpus()
    origin = Origin(np.arange(10), np.array([0, 0, 1, 1, 0, 0, 0, 0, 0, 0], dtype=np.int16), ("", "gandalf"))
    made = made.with_train(replace(made.train, origin=origin))
    assert rows_to_augment(made, SourceSettings(rows="all")).tolist() == [1, 5, 6, 7, 8]
