"""Calibrated annotations: what is learnt where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.data.pairs import row_ids
from tailwright.labels.annotations import soft_annotations
from tailwright.labels.calibration import (
    UNLEARNT,
    CalibrationSettings,
    Evidence,
    calibrated_annotations,
    features_of,
    held_out_evidence,
    learnt_factors,
)
from tailwright.labels.correlation import GraphSettings, correlation_graph

LABELS = 300
GRAPH = GraphSettings(method="series")


def paired_corpus(*, true_of_own_text: float, rows: int = 1500, own_rows: int = 150) -> Corpus:
    """Label 2i and label 2i + 1 share four of five rows of either.

    Some rows are the texts of labels: they have the other label of the pair with this probability.
    """
    random = np.random.default_rng(0)
    first = random.integers(LABELS, size=rows)
    together = random.random(rows) < 2 / 3  # so that 4/5 of the rows of a label have both
    own = random.choice(LABELS, size=own_rows, replace=False)
    with_other = np.concatenate([together, random.random(own_rows) < true_of_own_text])
    label = np.concatenate([first, own])
    places = np.arange(len(label))
    columns = np.concatenate([label, (label ^ 1)[with_other]])
    targets = sparse.csr_array(
        (np.ones(len(columns), dtype=np.float32), (np.concatenate([places, places[with_other]]), columns)),
        shape=(len(label), LABELS),
    )
    names = arrow_strings([f"label {column}" for column in range(LABELS)])
    texts = [f"row {row}" for row in range(rows)] + [f"Label  {column}" for column in own]
    return Corpus(Dataset(arrow_strings(texts), targets), LabelSpace(names, names, names))


def mean_target(corpus: Corpus, calibration: str, **settings: float) -> float:
    """The mean target of a label's companion in the pair."""
    found = calibrated_annotations(
        corpus, GRAPH, calibration, CalibrationSettings(**settings), threshold=0, seed=1
    )
    companions = (row_ids(found) ^ 1) == found.indices
    return float(found.data[companions].mean())


def test_shrinkage_multiplies_by_the_rows_of_the_label():
    corpus = paired_corpus(true_of_own_text=0.5)
    paper = soft_annotations(correlation_graph(corpus.train.targets, method="series"), 0).toarray()
    counts = corpus.labels.counts[:, None]
    expected = np.where(np.eye(LABELS) > 0, paper, paper * counts / (counts + 3))
    settings = CalibrationSettings(shrinkage=3)
    found = calibrated_annotations(corpus, GRAPH, "shrink", settings, threshold=0)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-6)


@pytest.mark.parametrize("truth", [0.1, 0.9])
def test_targets_follow_rows_that_are_label_texts(truth):
    corpus = paired_corpus(true_of_own_text=truth)
    assert mean_target(corpus, "learnt", held_out=0.5) == pytest.approx(truth, abs=0.12)


def test_without_such_rows_targets_follow_the_rows_that_labels_share():
    corpus = paired_corpus(true_of_own_text=0.0, own_rows=0)
    assert mean_target(corpus, "learnt") == pytest.approx(4 / 5, abs=0.1)


def test_without_rows_to_learn_from_it_shrinks():
    nothing = Evidence(np.empty((0, 4)), np.empty(0), np.empty(0))
    assert learnt_factors(nothing, nothing).tolist() == UNLEARNT.tolist()
    features = features_of(np.array([1.0]), np.array([1]), np.array([7]))
    assert 1 / (1 + np.exp(-features @ UNLEARNT)) == pytest.approx([0.5])


def test_evidence_is_about_companions_in_held_out_rows():
    own, shared = held_out_evidence(paired_corpus(true_of_own_text=1.0), GRAPH, 0.3, seed=0)
    assert set(own.truth.tolist()) <= {0.0, 1.0}
    assert own.truth.mean() > shared.truth.mean() > 0
    # The rows of a label count as one row.
    assert own.weights.max() <= 1
    assert shared.weights.min() < 0.5


def test_a_label_without_a_probable_companion_is_annotated_with_itself_alone():
    corpus = paired_corpus(true_of_own_text=0.5)
    whole, chosen = (
        calibrated_annotations(
            corpus, GRAPH, "shrink", CalibrationSettings(soft_from=least), threshold=0.1
        ).toarray()
        for least in (0.0, 0.6)
    )
    best = (whole - np.eye(LABELS)).max(axis=1)
    assert 0 < (best >= 0.6).sum() < LABELS
    np.testing.assert_array_equal(chosen, np.where(best[:, None] >= 0.6, whole, np.eye(LABELS)))


def test_the_same_seed_gives_the_same_targets_in_any_order_of_the_rows():
    corpus = paired_corpus(true_of_own_text=0.5)
    order = np.random.default_rng(1).permutation(len(corpus.train))
    one, other = (
        calibrated_annotations(each, GRAPH, "learnt", CalibrationSettings(), threshold=0.1, seed=5)
        for each in (corpus, corpus.with_train(corpus.train.take(order)))
    )
    np.testing.assert_array_equal(one.toarray(), other.toarray())
