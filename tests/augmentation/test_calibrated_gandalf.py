"""Calibrated Gandalf: label texts as rows, whose companions have probabilities instead of ratios."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from tailwright.augmentation import augmenter
from tailwright.augmentation.calibrated_gandalf import CalibratedGandalf
from tailwright.augmentation.gandalf import Gandalf
from tailwright.checks import check_augmenter
from tailwright.checks.corpora import odd_corpus, tiny_corpus
from tailwright.data.corpus import corpus_from_lists
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.data.pairs import same_pairs
from tailwright.errors import InputError
from tailwright.runs import augment


def test_it_keeps_the_contract_of_augmenters():
    check_augmenter("calibrated-gandalf")
    for change in ({"calibration": "shrink"}, {"method": "series", "soft_from": 0.5}):
        check_augmenter(augmenter("calibrated-gandalf", change))


def test_every_label_becomes_a_row_with_itself_as_a_sure_target():
    corpus = tiny_corpus()
    made = CalibratedGandalf().new_rows(corpus)
    assert made.texts.equals(corpus.labels.texts)
    assert made.targets.diagonal().tolist() == [1] * len(made)
    assert made.targets.nnz > len(made)  # some have companions


def test_shrinkage_of_0_leaves_gandalf():
    corpus = tiny_corpus()
    unshrunk = augmenter("calibrated-gandalf", {"calibration": "shrink", "shrinkage": 0})
    assert same_pairs(unshrunk.new_rows(corpus, seed=2).targets, Gandalf().new_rows(corpus, seed=2).targets)


def test_neither_test_labels_nor_augmented_rows_are_learnt_from():
    corpus = tiny_corpus()
    expected = CalibratedGandalf().new_rows(corpus)
    all_labels = sparse.csr_array(np.ones((5, len(corpus.labels)), dtype=np.float32))
    other = Dataset(arrow_strings(["apple things"] * 5), all_labels)
    assert CalibratedGandalf().new_rows(replace(corpus, valid=other, test=other)).same_as(expected)
    twice = augment(augment(corpus, "calibrated-gandalf"), "calibrated-gandalf")
    assert twice.train.take(range(len(twice.train) - len(expected), len(twice.train))).same_as(expected)


def test_labels_without_text_give_no_row():
    corpus = corpus_from_lists(["a b", "b"], [[0, 1], [1, 2]], ["alpha", " \t", ""])
    assert CalibratedGandalf().new_rows(corpus).texts.to_pylist() == ["alpha"]


def test_labels_without_rows_are_annotated_with_themselves():
    corpus = odd_corpus()
    made = CalibratedGandalf().new_rows(corpus.with_train(corpus.train.take([])))
    assert made.targets.nnz == len(made)


def test_a_line_says_what_calibration_did(caplog):
    with caplog.at_level(logging.INFO, logger="tailwright"):
        CalibratedGandalf().new_rows(tiny_corpus())
    lines = [line for line in caplog.messages if "mean target" in line]
    assert len(lines) == 1
    assert "held-out pairs of own rows" in lines[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"calibration": "guessed"}, "expected one of learnt, shrink"),
        ({"held_out": 1}, r"held_out must be in \(0, 1\), got 1"),
        ({"shrinkage": -1}, "shrinkage must be >= 0, got -1"),
    ],
)
def test_wrong_settings_are_named(change, message):
    with pytest.raises(InputError, match=message):
        augmenter("calibrated-gandalf", change)
