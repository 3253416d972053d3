"""Gandalf: label texts as rows, soft annotations from the training labels and from nothing else."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from tailwright.augmentation import augmenter
from tailwright.augmentation.gandalf import Gandalf, GandalfSettings
from tailwright.checks import check_augmenter
from tailwright.checks.corpora import odd_corpus, tiny_corpus
from tailwright.data.corpus import Corpus, corpus_from_lists
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.data.pairs import same_pairs
from tailwright.errors import InputError
from tailwright.labels import correlation_graph, soft_annotations
from tailwright.runs import augment


def test_other_settings_keep_the_contract_of_augmenters_too():
    for change in ({"soft": False}, {"method": "series"}, {"top": 1, "steps": 3}):
        check_augmenter(augmenter("gandalf", change))


def test_every_label_becomes_a_row_with_its_text_and_its_annotation():
    corpus = tiny_corpus()
    made = Gandalf().new_rows(corpus, seed=3)
    assert made.texts.equals(corpus.labels.texts)
    assert made.origin.rows.tolist() == list(range(len(corpus.labels)))
    assert same_pairs(made.targets, soft_annotations(correlation_graph(corpus.train.targets, seed=3)))
    assert made.weights.tolist() == [1] * len(made)


def test_targets_hold_the_label_itself_and_few_strong_companions():
    made = Gandalf().new_rows(tiny_corpus())
    assert made.targets.diagonal().tolist() == [1] * len(made)
    assert made.targets.data.min() > np.float32(0.1)
    assert made.targets.data.max() == 1
    assert np.diff(made.targets.indptr).max() <= 11
    assert made.targets.nnz > len(made)  # some have companions


def test_without_soft_annotations_it_is_the_identity():
    made = Gandalf(GandalfSettings(soft=False)).new_rows(tiny_corpus())
    assert same_pairs(made.targets, sparse.eye_array(made.labels, dtype=np.float32, format="csr"))


def test_binary_targets_are_those_of_the_same_companions():
    soft, binary = (
        augmenter("gandalf", {"binary": binary}).new_rows(tiny_corpus()) for binary in (False, True)
    )
    assert (binary.targets.data == 1).all()
    assert same_pairs(binary.targets, soft.targets.sign())


def test_symmetric_normalisation_divides_by_the_visits_of_the_companion():
    corpus = tiny_corpus()
    graph = correlation_graph(corpus.train.targets, method="series").toarray().astype(np.float64)
    visits = graph.sum(axis=0)
    have_rows = corpus.labels.counts > 0
    made = augmenter("gandalf", {"method": "series", "normalisation": "symmetric", "threshold": 0}).new_rows(
        corpus
    )
    expected = (
        graph[have_rows]
        / graph.diagonal()[have_rows, None]
        * np.sqrt(visits[have_rows, None] / np.where(visits > 0, visits, 1))
    )
    np.testing.assert_allclose(made.targets.toarray()[have_rows], np.minimum(expected, 1), rtol=1e-5)


def test_neither_test_labels_nor_augmented_rows_enter_the_graph():
    corpus = tiny_corpus()
    expected = Gandalf().new_rows(corpus)
    all_labels = sparse.csr_array(np.ones((5, len(corpus.labels)), dtype=np.float32))
    other = Dataset(arrow_strings(["x"] * 5), all_labels)
    with_others = replace(corpus, valid=other, test=other)
    assert Gandalf().new_rows(with_others).same_as(expected)
    twice = augment(augment(corpus, "gandalf"), "gandalf")
    assert twice.train.take(range(len(twice.train) - len(expected), len(twice.train))).same_as(expected)


def test_labels_without_text_give_no_row_and_are_counted(caplog):
    corpus = corpus_from_lists(["a b", "b"], [[0, 1], [1, 2]], ["alpha", " \t", ""])
    with caplog.at_level(logging.INFO, logger="tailwright"):
        made = Gandalf().new_rows(corpus)
    assert made.texts.to_pylist() == ["alpha"]
    assert made.origin.rows.tolist() == [0]
    assert "2 of 3 labels have no text and give no row" in caplog.text
    # The skipped label may still be a companion.
    assert made.targets.indices.tolist() == [0, 1]


def test_labels_without_rows_are_annotated_with_themselves():
    corpus = odd_corpus()
    made = Gandalf().new_rows(corpus.with_train(corpus.train.take([])))
    assert made.targets.nnz == len(made)


def test_settings_come_from_text_too():
    corpus = tiny_corpus()
    set_by_text = augment(corpus, "gandalf", settings={"soft": "false", "steps": "50"})
    assert isinstance(set_by_text, Corpus)
    assert set_by_text.train.targets.nnz == corpus.train.targets.nnz + len(corpus.labels)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": 1.0}, r"threshold must be in \[0, 1\), got 1.0"),
        ({"steps": 0}, r"steps must be in \[1, 1000000\], got 0"),
    ],
)
def test_wrong_settings_are_named(change, message):
    with pytest.raises(InputError, match=message):
        augmenter("gandalf", change)
