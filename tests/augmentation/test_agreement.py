"""Diversity and consistency: equal to plain formulas over all labels, whatever is listed, soft or ignored."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit, log_softmax
from told_classifier import Told

from tailwright.augmentation.shared import agreement as module
from tailwright.augmentation.shared.agreement import (
    FAINT,
    FLOOR,
    agreement,
    listed,
    ranks,
    softmax_kl,
    summed_bce,
)
from tailwright.data.corpus import corpus_from_lists
from tailwright.data.dataset import Dataset, Origin, arrow_strings
from tailwright.data.pairs import checked
from tailwright.evaluation.ranking import TopK, top_k_of_scores

LABELS = 6


@st.composite
def blocks(draw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(log-odds, minus infinity where a label is not listed; targets; ignored), (rows, labels) each."""
    shape = (draw(st.integers(1, 4)), LABELS)

    def table(values: st.SearchStrategy[float]) -> np.ndarray:
        cells = draw(st.lists(values, min_size=shape[0] * LABELS, max_size=shape[0] * LABELS))
        return np.array(cells, dtype=np.float32).reshape(shape)

    odds = table(st.one_of(st.just(-np.inf), st.floats(-12, 12, width=32)))
    targets = table(st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0]))
    return odds, targets, table(st.sampled_from([0.0, 0.0, 0.0, 1.0]))


def said(odds: np.ndarray) -> TopK:
    top = top_k_of_scores(odds, LABELS)
    found = np.isfinite(top.scores)
    return TopK(np.where(found, top.ids, -1), top.scores)


def pairs(dense: np.ndarray) -> sparse.csr_array:
    return checked(sparse.csr_array(dense.astype(np.float32)))


@given(blocks())
def test_bce_is_the_sum_over_all_labels_that_give_a_loss(block):
    odds, targets, ignored = block
    above, rest = listed(said(odds), pairs(ignored))
    p = expit(np.maximum(odds.astype(np.float64), FLOOR))
    plain = -(targets * np.log(p) + (1 - targets) * np.log1p(-p)) * (1 - ignored)
    learnt = pairs(targets * (1 - ignored))
    np.testing.assert_allclose(summed_bce(above, rest, learnt), plain.sum(axis=1), rtol=1e-6, atol=1e-6)


@given(blocks())
def test_softmax_kl_is_that_of_the_smoothed_labels(block):
    odds, targets, ignored = block
    above, rest = listed(said(odds), pairs(ignored))
    learnt = targets * (1 - ignored)
    expected = []
    for z, y, dropped in zip(np.maximum(odds.astype(np.float64), FLOOR), learnt, ignored, strict=True):
        z, y = z[dropped == 0], y[dropped == 0].astype(np.float64)
        if not len(z):
            expected.append(0.0)
            continue
        smoothed = (y / y.sum() if y.any() else y) + FAINT
        log_q = log_softmax(z)
        expected.append(float((np.exp(log_q) * (log_q - np.log(smoothed / smoothed.sum()))).sum()))
    np.testing.assert_allclose(softmax_kl(above, rest, pairs(learnt)), expected, rtol=1e-6, atol=1e-6)


def test_ranks_count_from_one_and_leave_out_what_is_not_listed():
    top = TopK(np.array([[2, 0, -1]]), np.array([[1.0, 0.5, -np.inf]]))
    assert ranks(top, 4).toarray().tolist() == [[2, 0, 1, 0]]


def made_of(corpus, texts: list[str], sources: list[int]) -> Dataset:
    return Dataset(
        arrow_strings(texts), corpus.train.targets[sources], origin=Origin.made_by("copy", np.array(sources))
    )


@pytest.mark.parametrize("cells", [1, 7, 2**22])
def test_consistency_compares_each_copy_with_its_own_source(monkeypatch, cells):
    """Two copies a row, document by document or shuffled, in blocks of any size."""
    monkeypatch.setattr(module, "CELLS", cells)
    random = np.random.default_rng(0)
    corpus = corpus_from_lists(list("abc"), [[0, 1], [2, 3, 4], [5]], ["x"] * LABELS)
    sources = [0, 0, 1, 1, 2, 2]
    texts = [f"{source} {copy}" for source, copy in zip(sources, "121212", strict=True)]
    table = {text: random.normal(size=LABELS) for text in (*"abc", *texts)}
    train = Dataset.concat([corpus.train, made_of(corpus, texts, sources)])

    def first(text: str, k: int) -> set[int]:
        return set(np.argsort(-np.asarray(table[text]))[:k].tolist())

    sizes = [2, 2, 3, 3, 1, 1]
    expected = [
        len(first(text, k) & first("abc"[source], k)) / k
        for text, source, k in zip(texts, sources, sizes, strict=True)
    ]
    assert len(set(expected)) > 2
    for order in (np.arange(9), np.array([7, 3, 0, 5, 2, 8, 4, 1, 6])):
        shuffled, told = train.take(order), Told(table)
        made = np.flatnonzero(order >= 3)
        place = {row: at for at, row in enumerate(order.tolist())}
        at_sources = np.array([place[sources[row - 3]] for row in order[made]])
        _, found = agreement(shuffled, made, at_sources, told, summed_bce)
        assert found.tolist() == [expected[row - 3] for row in order[made]]
        assert set(told.asked.values()) == {1}
        assert len(told.asked) == 9


def test_without_a_source_a_row_is_compared_with_its_own_labels():
    corpus = corpus_from_lists(["a", "b"], [[0, 1], []], ["x"] * 3)
    told = Told({"a": [3.0, -2.0, 1.0], "b": [0.0, 0.0, 0.0]})
    _, found = agreement(corpus.train, np.array([0, 1]), np.array([-1, -1]), told, summed_bce)
    assert found.tolist() == [0.5, 0.0]  # a row without labels has none to agree on


def test_a_depth_below_all_labels_still_lists_as_many_as_a_row_has():
    corpus = corpus_from_lists(["a", "b"], [[0, 1, 2], [0]], ["x"] * 4)
    train = Dataset.concat([corpus.train, made_of(corpus, ["c"], [0])])
    told = Told({"a": [3.0, 2.0, 1.0, 0.0], "c": [0.0, 1.0, 2.0, 3.0]})
    where = (np.array([2]), np.array([0]))
    shallow, found = agreement(train, *where, told, summed_bce, 1)
    assert found.tolist() == [2 / 3]
    whole, _ = agreement(train, *where, told, summed_bce)
    assert shallow[0] - whole[0] == pytest.approx(-FLOOR - np.log(2), abs=1e-5)  # label 0 is not listed
