"""A corpus in miniature: some of the labels, with all of their rows."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tailwright.checks.corpora import odd_corpus, tiny_corpus
from tailwright.data import Corpus, Origin
from tailwright.data.corpus import corpus_from_lists
from tailwright.study.plan.miniature import draw_order, miniature


@pytest.fixture(scope="module")
def corpus():
    return tiny_corpus(400).split(0.2)


@pytest.fixture(scope="module")
def order(corpus):
    return draw_order(corpus)


def test_the_whole_share_is_the_corpus_itself(corpus, order):
    assert miniature(corpus, 1.0, order) is corpus


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_label_keeps_all_of_its_rows(corpus, order, share):
    part = miniature(corpus, share, order)
    columns = [corpus.labels.index_of_id[label] for label in part.labels.ids.to_pylist()]
    assert 0 < len(columns) < len(corpus.labels)
    assert part.labels.counts.tolist() == corpus.labels.counts[columns].tolist()
    assert part.labels.texts.to_pylist() == corpus.labels.texts.take(columns).to_pylist()


def test_larger_shares_hold_the_smaller_ones(corpus, order):
    labels = [set(miniature(corpus, s, order).labels.ids.to_pylist()) for s in (0.2, 0.4, 0.8, 1.0)]
    assert all(small <= large for small, large in itertools.pairwise(labels))


def test_rows_without_a_kept_label_are_left_out_of_every_split(corpus, order):
    part = miniature(corpus, 0.3, order)
    assert set(part.splits()) == {"train", "valid"}
    for split in part.splits().values():
        assert (np.diff(split.targets.indptr) > 0).all()
    assert set(part.train.texts.to_pylist()) < set(corpus.train.texts.to_pylist())


def test_label_weights_follow_their_labels():
    whole = odd_corpus()
    made = Origin.made_by("eda", whole.train.origin.rows)
    weighted = whole.with_train(replace(whole.train, origin=made, label_weights=np.arange(1, 6)))
    part = miniature(weighted, 0.5, np.array([0.9, 0.9, 0.1, 0.1, 0.9]))
    assert part.train.label_weights.tolist() == [3, 4]


def test_every_column_follows_its_rows_and_labels():
    whole = odd_corpus()
    # Labels 2 and 3 alone: rows 2..6 carry them.
    part = miniature(whole, 0.5, np.array([0.9, 0.9, 0.1, 0.1, 0.9]))
    assert part.train.texts.to_pylist() == whole.train.texts.to_pylist()[2:7]
    assert part.train.targets.toarray().tolist() == whole.train.targets[2:7, [2, 3]].toarray().tolist()
    assert part.train.weights.tolist() == whole.train.weights[2:7].tolist()
    assert part.train.excluded.nnz == 0
    part = miniature(whole, 0.5, np.array([0.9, 0.1, 0.9, 0.9, 0.1]))
    assert part.train.excluded.toarray().tolist() == [[0, 0], [0, 1]]


def test_companions_stay_together():
    # 128 pairs of labels that share their rows and their words with no other pair.
    pairs = 128
    texts = [f"word{i} other{i}" for i in range(pairs)] * 2
    whole = corpus_from_lists(
        texts, [[2 * i, 2 * i + 1] for i in range(pairs)] * 2, [f"label {i}" for i in range(2 * pairs)]
    )
    kept = miniature(whole, 0.5, draw_order(whole)).labels.ids.to_pylist()
    together = len(kept) - len({int(label) // 2 for label in kept})
    assert len(kept) == pytest.approx(pairs, abs=4)
    # Labels drawn one by one would keep every second companion: 32 of 128.
    assert together > 56


def test_at_least_one_label_is_left(corpus, order):
    assert len(miniature(corpus, 1e-9, order).labels) == 1


def test_the_same_seed_draws_the_same_labels(corpus, order):
    assert np.array_equal(draw_order(corpus), order)
    assert not np.array_equal(draw_order(corpus, seed=1), order)


@pytest.mark.parametrize("share", [0, -0.5, 1.5])
def test_a_share_outside_its_range_is_refused(corpus, order, share):
    with pytest.raises(ValueError, match=r"share must be in \(0, 1\]"):
        miniature(corpus, share, order)


def test_an_empty_split_does_no_harm(order):
    whole = tiny_corpus(400)
    empty = Corpus(whole.train, whole.labels, valid=whole.train.take([]))
    assert len(miniature(empty, 0.5, order).splits()["valid"]) == 0
