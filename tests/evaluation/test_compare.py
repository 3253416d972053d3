"""Two rankings side by side: the rows shown are a fair draw, the labels shown those that changed most."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tailwright.evaluation.compare import LabelHits, label_hits, shares, telling_rows

ROWS, LABELS, K = 12, 6, 2


def case(seed: int) -> tuple[np.ndarray, np.ndarray, sparse.csr_array, sparse.csr_array, np.ndarray]:
    """Two rankings, truth, excluded pairs and a mask, all drawn."""
    draw = np.random.default_rng(seed)
    before, after = (np.array([draw.permutation(LABELS)[:4] for _ in range(ROWS)]) for _ in range(2))
    truth = draw.random((ROWS, LABELS)) * (draw.random((ROWS, LABELS)) < 0.4)
    excluded = draw.random((ROWS, LABELS)) < 0.1
    return before, after, sparse.csr_array(truth), sparse.csr_array(excluded * 1.0), draw.random(LABELS) < 0.5


def among_first(top: np.ndarray, excluded: sparse.csr_array) -> np.ndarray:
    """(rows, labels): 1 where a label is among the first K of its row's ranking without excluded pairs."""
    skipped, ranked = excluded.toarray(), np.zeros((ROWS, LABELS))
    for row, ranking in enumerate(top):
        ranked[row, [label for label in ranking if not skipped[row, label]][:K]] = 1
    return ranked


@given(st.integers(0, 10_000), st.integers(0, 6))
def test_the_rows_shown_are_rows_that_changed_in_fair_numbers(seed, count):
    before, after, truth, excluded, mask = case(seed)
    telling = telling_rows(before, after, truth, mask, K, count=count, seed=seed, excluded=excluded)
    counted = truth.toarray() * mask * (excluded.toarray() == 0)
    was, now = ((counted * among_first(top, excluded)).sum(axis=1) for top in (before, after))
    assert (telling.better, telling.worse) == ((now > was).sum(), (now < was).sum())
    assert len(set(telling.rows.tolist())) == len(telling.rows) == min(count, telling.better + telling.worse)
    assert np.allclose(telling.gained, (now - was)[telling.rows])
    assert (int((telling.gained > 0).sum()), int((telling.gained < 0).sum())) == shares(
        telling.better, telling.worse, count
    )
    again = telling_rows(before, after, truth, mask, K, count=count, seed=seed, excluded=excluded)
    assert telling.rows.tolist() == again.rows.tolist()


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 8))
def test_shares_are_in_proportion_and_leave_no_side_out(one, other, count):
    first, second = shares(one, other, count)
    assert first + second == min(count, one + other)
    assert 0 <= first <= one
    assert 0 <= second <= other
    if first + second > 1 and one and other:
        assert min(first, second) >= 1
    if one + other > count:
        exact = count * one / (one + other)
        assert abs(first - exact) <= max(0.5, 1 - min(exact, count - exact)) + 1e-9


@given(st.integers(0, 10_000))
def test_hits_of_a_label_are_the_rows_that_rank_it_and_have_it(seed):
    before, after, truth, excluded, _ = case(seed)
    counted = truth.toarray() * (excluded.toarray() == 0)
    hits = label_hits(before, after, truth, K, excluded)
    for top, found in ((before, hits.before), (after, hits.after)):
        assert np.allclose(found, (counted * among_first(top, excluded)).sum(axis=0))
    assert np.allclose(hits.there, counted.sum(axis=0))


def test_labels_that_changed_most_come_first_and_unchanged_ones_never():
    hits = LabelHits(
        np.array([0, 5, 3, 2, 0, 1.0]), np.array([4, 1, 3, 4, 2, 0.0]), np.array([9, 9, 9, 9, 2, 9.0])
    )
    gained, lost = hits.most_changed(2)
    assert (gained.tolist(), lost.tolist()) == ([0, 4], [1, 5])
    assert [part.tolist() for part in hits.most_changed(9)] == [[0, 4, 3], [1, 5]]
