"""LabelMix: which rows and labels are drawn, what becomes of the targets, and where its numbers come from."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import corpora

import tailwright as tw
from tailwright.augmentation.labelmix import LabelMix, LabelMixSettings, Mix
from tailwright.checks import check_augmenter
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.corpus import Corpus, LabelSpace, corpus_from_lists
from tailwright.data.dataset import Dataset, Origin, arrow_strings
from tailwright.data.pairs import pairs_from_lists, row_ids, same_pairs
from tailwright.errors import InputError
from tailwright.labels import correlation_graph, soft_annotations
from tailwright.labels.correlation import GraphSettings
from tailwright.settings import settings_from
from tailwright.streams import stream
from tailwright.training.batches import BatchDrawer, DrawnBatch

ALWAYS = LabelMixSettings(probability=1.0)


def mixed(corpus: Corpus, mix: Mix, rows: np.ndarray | list[int], number: int = 0) -> DrawnBatch:
    random = stream(5, "test-labelmix", number)
    return BatchDrawer(corpus.train, [mix])(np.asarray(rows, dtype=np.int64), random)


def dense(batch: DrawnBatch, labels: int) -> np.ndarray:
    targets = batch.targets
    return sparse.csr_array(
        (targets.values, targets.labels, targets.starts), (len(batch.rows), labels)
    ).toarray()


def plain_targets(targets: np.ndarray, graph: np.ndarray, drawn: int, threshold: float) -> np.ndarray:
    """The twin for one row: min(y + A[j] / A[j, j], 1), new entries above the threshold alone."""
    own = graph[drawn, drawn]
    annotation = graph[drawn].astype(np.float64) / own if own else np.eye(len(graph))[drawn]
    united = np.minimum(targets + annotation, 1)
    return np.where((targets > 0) | (united > threshold), united, 0)


def test_other_settings_keep_the_contract_of_augmenters_too():
    for change in ({"soft": False}, {"method": "series", "exponent": 0.45}, {"probability": 1.0}):
        check_augmenter(LabelMix(settings_from(LabelMixSettings, change)))


@pytest.mark.parametrize("probability", [0.4, 0.9])
def test_the_share_of_mixed_rows_is_the_probability(probability):
    corpus = tiny_corpus()
    mix = LabelMix(LabelMixSettings(probability=probability)).prepare(corpus)
    rows = np.tile(np.arange(len(corpus.train)), 100)
    share = (mixed(corpus, mix, rows).appended >= 0).mean()
    assert abs(share - probability) < 4 * (probability * (1 - probability) / len(rows)) ** 0.5


@pytest.mark.parametrize("exponent", [-0.5, 0.0, 0.45])
def test_a_label_of_the_row_is_drawn_by_its_count_to_the_exponent(exponent):
    ids = [[0, 1, 2], *[[0]] * 15, *[[1]] * 3]
    corpus = corpus_from_lists(["x"] * len(ids), ids, ["often", "sometimes", "rarely"])
    assert corpus.labels.counts.tolist() == [16, 4, 1]
    mix = LabelMix(replace(ALWAYS, exponent=exponent)).prepare(corpus)
    drawn = mixed(corpus, mix, np.zeros(20_000)).appended
    odds = np.array([16.0, 4, 1]) ** exponent
    np.testing.assert_allclose(np.bincount(drawn) / len(drawn), odds / odds.sum(), atol=0.015)


def test_an_extreme_exponent_draws_the_rarest_of_each_row():
    ids = [[0, 1], [0], *[[0, 1, 2]] * 30]
    corpus = corpus_from_lists(["x"] * len(ids), ids, ["a", "b", "c"])
    mix = LabelMix(replace(ALWAYS, exponent=-5000.0)).prepare(corpus)
    assert mixed(corpus, mix, [2, 0, 1]).appended.tolist() == [2, 1, 0]


@given(corpora(), st.integers(0, 50))
def test_targets_are_those_of_the_plain_twin(corpus, number):
    settings = settings_from(LabelMixSettings, {"probability": 0.7, "steps": 40})
    mix = LabelMix(settings).prepare(corpus, seed=3)
    rows = stream(1, "rows", number).integers(0, len(corpus.train), 6)
    batch = mixed(corpus, mix, rows, number)
    originals = corpus.train.originals()
    in_order = originals.targets[np.argsort(originals.origin.rows, kind="stable")]
    graph = correlation_graph(in_order, steps=40, seed=3).toarray()
    before, learnt = corpus.train.targets.toarray()[rows], corpus.train.learnt_targets().toarray()[rows]
    found = dense(batch, len(corpus.labels))
    texts = corpus.labels.texts.to_pylist()
    for row, label in enumerate(batch.appended):
        if label < 0:
            np.testing.assert_array_equal(found[row], before[row])
        else:
            assert learnt[row, label] > 0
            assert texts[label].strip()
            expected = plain_targets(before[row], graph, label, 0.1)
            np.testing.assert_allclose(found[row], expected, rtol=1e-6)


def test_soft_positives_are_neither_dropped_nor_rounded():
    """A graph that says nothing of them leaves targets below the threshold as they are, to the last bit."""
    values = [[1.0, 0.05, 1e-6], [0.3]]
    data = Dataset(arrow_strings(["a", "b"]), pairs_from_lists([[0, 1, 2], [3]], 4, values))
    alone = corpus_from_lists(["x"] * 4, [[0], [1], [2], [3]], list("abcd"))
    corpus = alone.with_train(
        Dataset.concat([alone.train, replace(data, origin=Origin.made_by("gandalf", np.arange(2)))])
    )
    mix = replace(LabelMix(ALWAYS).prepare(corpus), log_odds=np.array([0, -np.inf, -np.inf, -np.inf]))
    batch = mixed(corpus, mix, [4, 5])
    assert batch.appended.tolist() == [0, -1]
    assert batch.targets.labels.tolist() == [0, 1, 2, 3]
    assert batch.targets.values.tolist() == np.float32([1, 0.05, 1e-6, 0.3]).tolist()


def test_rows_of_other_augmentations_are_mixed_too():
    corpus = tw.augment(tiny_corpus(), "gandalf")
    made = np.flatnonzero(~corpus.train.origin.is_original())
    batch = mixed(corpus, LabelMix(ALWAYS).prepare(corpus), made)
    assert (batch.appended >= 0).all()


def test_a_companion_at_the_threshold_is_dropped_and_one_above_is_kept():
    corpus = corpus_from_lists(["x"] * 3, [[0], [1], [2]], ["a", "b", "c"])
    graph = sparse.csr_array(np.float32([[400, 40, 41], [0, 1, 0], [0, 0, 1]]))
    mix = replace(LabelMix(ALWAYS).prepare(corpus), annotations=soft_annotations(graph, 0))
    batch = mixed(corpus, mix, [0])
    assert batch.targets.labels.tolist() == [0, 2]
    assert batch.targets.values.tolist() == np.float32([1, 41 / 400]).tolist()


def test_without_soft_annotations_targets_stay():
    corpus = tiny_corpus()
    rows = np.arange(len(corpus.train))
    batch = mixed(corpus, LabelMix(replace(ALWAYS, soft=False)).prepare(corpus), rows)
    assert (batch.appended >= 0).all()
    np.testing.assert_array_equal(dense(batch, len(corpus.labels)), corpus.train.targets.toarray())


def test_hard_positives_stay_and_companions_join():
    corpus = tiny_corpus()
    rows = np.arange(len(corpus.train))
    found = dense(mixed(corpus, LabelMix(ALWAYS).prepare(corpus), rows), len(corpus.labels))
    assert (found[corpus.train.targets.toarray() == 1] == 1).all()
    assert ((found > 0.1) | (found == 0)).all()
    assert (found > 0).sum() > corpus.train.targets.nnz


def test_labels_without_text_are_counted_and_never_drawn(caplog):
    corpus = corpus_from_lists(["a"] * 2, [[0, 1], [1]], ["alpha", " \t"])
    with caplog.at_level(logging.INFO, logger="tailwright"):
        mix = LabelMix(ALWAYS).prepare(corpus)
        batches = [mixed(corpus, mix, [0, 1], number) for number in range(50)]
    assert {tuple(batch.appended.tolist()) for batch in batches} == {(0, -1)}
    assert caplog.text.count("1 of 2 labels have no text and are never drawn") == 1
    assert batches[0].targets.labels[batches[0].targets.starts[1] :].tolist() == [1]


def test_an_ignored_pair_is_never_drawn_and_stays_without_loss():
    corpus = corpus_from_lists(["a", "b", "c"], [[0, 1], [0, 1], [1, 2]], ["alpha", "beta", "gamma"])
    ignored = pairs_from_lists([[0, 2], [], []], 3)
    corpus = corpus.with_train(replace(corpus.train, ignored=ignored))
    mix = LabelMix(replace(ALWAYS, graph=GraphSettings(method="series"), threshold=0.0)).prepare(corpus)
    draw = BatchDrawer(corpus.train, [mix])
    for number in range(50):
        batch = draw(np.array([0, 1]), stream(0, "ignored", number))
        targets = batch.targets
        assert batch.appended[0] == 1
        # Label 2 comes to row 0 as a companion of label 1, and its pair is still among the ignored ones.
        assert (0, 2) in zip(targets.rows.tolist(), targets.labels.tolist(), strict=True)
        without = zip(targets.ignored_rows.tolist(), targets.ignored.tolist(), strict=True)
        assert set(without) == {(0, 0), (0, 2)}


def test_a_row_that_has_a_text_appended_stays():
    corpus = tiny_corpus()
    mix = LabelMix(ALWAYS).prepare(corpus)
    once = mixed(corpus, mix, np.arange(10))
    twice = mix(once, stream(9, "again"))
    np.testing.assert_array_equal(twice.appended, once.appended)
    np.testing.assert_array_equal(twice.targets.values, once.targets.values)


def test_neither_test_labels_nor_augmented_rows_enter_odds_or_graph():
    corpus = tiny_corpus()
    all_labels = sparse.csr_array(np.ones((5, len(corpus.labels)), dtype=np.float32))
    other = Dataset(arrow_strings(["x"] * 5), all_labels)
    plain = LabelMix().prepare(corpus, seed=2)
    for changed in (replace(corpus, valid=other, test=other), tw.augment(corpus, "gandalf")):
        mix = LabelMix().prepare(changed, seed=2)
        np.testing.assert_array_equal(mix.log_odds, plain.log_odds)
        assert same_pairs(mix.annotations, plain.annotations)


def test_a_label_of_augmented_rows_alone_counts_as_one_with_a_single_row():
    corpus = tiny_corpus()
    assert corpus.labels.counts[-1] == 0
    mix = LabelMix().prepare(corpus)
    assert mix.log_odds[-1] == 0
    assert (mix.log_odds[:-1] <= 0).all()
    own = np.arange(len(corpus.labels)) == len(corpus.labels) - 1
    np.testing.assert_array_equal(mix.annotations.toarray()[-1], own)


def test_annotations_may_be_calibrated():
    corpus = tiny_corpus()
    plain, shrunk = (
        LabelMix(LabelMixSettings(calibration=calibration)).prepare(corpus).annotations
        for calibration in ("none", "shrink")
    )
    counts = corpus.labels.counts[row_ids(plain)]
    own = row_ids(plain) == plain.indices
    np.testing.assert_allclose(shrunk.data, np.where(own, 1, plain.data * counts / (counts + 1)), rtol=1e-6)


def test_no_label_has_a_text_and_nothing_is_mixed():
    corpus = tiny_corpus()
    bare = Corpus(corpus.train, LabelSpace.numbered(len(corpus.labels)))
    assert (mixed(bare, LabelMix(ALWAYS).prepare(bare), np.arange(20)).appended == -1).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probability": 0.0}, r"probability must be in \(0, 1\], got 0.0"),
        ({"threshold": 1.0}, r"threshold must be in \[0, 1\), got 1.0"),
        ({"exponent": "nan"}, "exponent must be a finite number, got nan"),
        ({"steps": 0}, "steps must be"),
    ],
)
def test_wrong_settings_are_named(change, message):
    with pytest.raises(InputError, match=message):
        settings_from(LabelMixSettings, change)
