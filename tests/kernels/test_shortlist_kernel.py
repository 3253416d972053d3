"""The kernels of shortlists agree with plain loops over the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.kernels.shortlist import (
    add_lists,
    candidate_lists,
    candidate_pass,
    pair_scores,
    point_votes,
)

NONE = np.empty(0, dtype=np.int32)


def generator(key: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=key))


def ends_of(rows: list[list[int]]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)


def flat(rows: list[list[int]]) -> np.ndarray:
    return np.array([label for row in rows for label in row], dtype=np.int32)


def plain_candidates(positives, values, keys, most, lists, drawn, ignored, size):
    """What `candidate_lists` does, a row at a time with sets."""
    found = []
    for row, labels in enumerate(positives):
        order = sorted(range(len(labels)), key=lambda p: keys[row][p])
        learnt = [p for p in order if labels[p] not in ignored[row]][: min(most, size)]
        chosen = [(labels[p], values[row][p]) for p in learnt]
        met = set(labels) | set(ignored[row])
        for label in [*lists[row], *drawn[row]]:
            if label >= 0 and label not in met and len(chosen) < size:
                chosen.append((label, 0.0))
                met.add(label)
        found.append(chosen)
    return found


@st.composite
def batches(draw):
    labels = draw(st.integers(1, 12))
    rows = draw(st.integers(1, 4))
    some = st.lists(st.integers(0, labels - 1), unique=True, max_size=labels).map(sorted)
    of_rows = st.lists(some, min_size=rows, max_size=rows)
    width, extra = draw(st.integers(0, 6)), draw(st.integers(0, 6))
    padded = st.integers(-1, labels - 1)
    lists = draw(st.lists(st.lists(padded, min_size=width, max_size=width), min_size=rows, max_size=rows))
    drawn = draw(st.lists(st.lists(padded, min_size=extra, max_size=extra), min_size=rows, max_size=rows))
    most = draw(st.integers(1, 4))
    return labels, draw(of_rows), draw(of_rows), lists, drawn, most, most + draw(st.integers(0, 8))


@given(batches(), st.integers(0, 1000))
def test_candidates_are_positives_then_the_list_then_drawn_labels(batch, key):
    labels, positives, ignored, lists, drawn, most, size = batch
    random = generator(key)
    keys, values = ([list(random.random(len(row))) for row in positives] for _ in range(2))
    indptr, found, targets = candidate_lists(
        ends_of(positives),
        flat(positives),
        np.array([v for row in values for v in row], dtype=np.float32),
        np.array([k for row in keys for k in row]),
        most,
        np.array(lists, dtype=np.int32).reshape(len(lists), -1),
        np.array(drawn, dtype=np.int32).reshape(len(drawn), -1),
        ends_of(ignored),
        flat(ignored),
        size,
        labels,
    )
    expected = plain_candidates(positives, values, keys, most, lists, drawn, ignored, size)
    for row, chosen in enumerate(expected):
        part = slice(indptr[row], indptr[row + 1])
        assert found[part].tolist() == [label for label, _ in chosen]
        np.testing.assert_allclose(targets[part], [value for _, value in chosen], rtol=1e-6)


def test_all_positives_are_candidates_where_there_are_few_enough():
    positives = [[3, 7, 9]]
    ones = np.ones(3, np.float32)
    lists = np.array([[7, 1, 2]], dtype=np.int32)
    none = np.zeros((1, 0), np.int32)
    _, found, targets = candidate_lists(
        ends_of(positives), flat(positives), ones, np.arange(3.0), 20, lists, none, ends_of([[]]), NONE, 5, 10
    )
    assert found.tolist() == [3, 7, 9, 1, 2]
    assert targets.tolist() == [1, 1, 1, 0, 0]


def test_a_positive_that_is_left_out_is_no_negative():
    positives = [[0, 1, 2]]
    lists = np.array([[0, 1, 2, 3]], dtype=np.int32)
    keys = np.array([0.9, 0.1, 0.5])
    ones, none = np.ones(3, np.float32), np.zeros((1, 0), np.int32)
    _, found, _ = candidate_lists(
        ends_of(positives), flat(positives), ones, keys, 1, lists, none, ends_of([[]]), NONE, 9, 4
    )
    assert found.tolist() == [1, 3]


def test_pair_scores_are_dot_products():
    random = generator(3)
    queries = random.standard_normal((4, 37), dtype=np.float32)
    table = random.standard_normal((9, 37), dtype=np.float32)
    indptr = np.array([0, 3, 3, 4, 8])
    labels = random.integers(0, 9, 8).astype(np.int32)
    scores = np.empty(8, dtype=np.float32)
    pair_scores(indptr, labels, queries, table, scores)
    rows = np.repeat(np.arange(4), np.diff(indptr))
    np.testing.assert_allclose(scores, (queries[rows] * table[labels]).sum(axis=1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("blocks", [1, 3, 16])
def test_one_pass_over_the_table_gives_cross_entropy_and_its_gradients(blocks, weighted):
    random = generator(11)
    queries = 20 * random.standard_normal((5, 19), dtype=np.float32)
    table = random.standard_normal((8, 19), dtype=np.float32)
    carried = [sorted(set(random.integers(0, 5, 3).tolist())) for _ in range(8)]
    starts, rows = ends_of(carried), flat(carried)
    targets = random.random(len(rows), dtype=np.float32)
    weights = random.random(5, dtype=np.float32)
    factors = random.random(len(rows) if weighted else 0, dtype=np.float32)
    row_gradients = np.zeros((blocks, *queries.shape), dtype=np.float32)
    table_gradient = np.zeros_like(table)
    loss = candidate_pass(
        starts, rows, targets, weights, factors, queries, table, row_gradients, table_gradient
    )
    of_pairs = weights[rows] * factors if weighted else weights[rows]
    labels = np.repeat(np.arange(8), np.diff(starts))
    scores = (queries[rows].astype(float) * table[labels]).sum(axis=1)
    expected = of_pairs * (np.logaddexp(0, scores) - targets * scores)
    assert loss == pytest.approx(expected.sum(), rel=1e-5)
    gradients = of_pairs * (1 / (1 + np.exp(-scores)) - targets)
    plain_rows, plain_table = np.zeros(queries.shape), np.zeros(table.shape)
    np.add.at(plain_rows, rows, gradients[:, None] * table[labels])
    np.add.at(plain_table, labels, gradients[:, None] * queries[rows])
    np.testing.assert_allclose(row_gradients.sum(axis=0), plain_rows, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(table_gradient, plain_table, rtol=1e-3, atol=1e-3)


def plain_ranking(total: dict[int, float], k: int) -> list[int]:
    return sorted(total, key=lambda label: (-total[label], label))[:k]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 4, 20])
def test_votes_are_summed_similarities_over_the_largest(threads, k):
    random = generator(5)
    rows, neighbours, points, labels = 7, 5, 11, 13
    near = random.integers(-1, points, (rows, neighbours)).astype(np.int32)
    similarities = random.random((rows, neighbours), dtype=np.float32)
    carried = [sorted(set(random.integers(0, labels, 3).tolist())) for _ in range(points)]
    values = random.random(len(flat(carried)), dtype=np.float32)
    indptr = ends_of(carried)
    ids = np.full((rows, k), -1, dtype=np.int32)
    scores = np.full((rows, k), -np.inf, dtype=np.float32)
    point_votes(near, similarities, indptr, flat(carried), values, labels, threads, ids, scores)
    for row in range(rows):
        total: dict[int, float] = {}
        for point, similarity in zip(near[row], similarities[row], strict=True):
            for p in range(indptr[point], indptr[point + 1]) if point >= 0 else ():
                label = int(flat(carried)[p])
                total[label] = total.get(label, 0) + float(similarity) * float(values[p])
        largest = max(total.values(), default=1)
        expected = plain_ranking(total, k)
        assert ids[row][ids[row] >= 0].tolist() == expected
        np.testing.assert_allclose(
            scores[row, : len(expected)], [total[label] / largest for label in expected], rtol=1e-5
        )
        assert np.isneginf(scores[row, len(expected) :]).all()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_lists_are_added_up_with_zero_for_what_they_lack(threads):
    random = generator(7)
    lists, rows, width, labels, k = 3, 6, 4, 9, 6
    ids = np.full((lists, rows, width), -1, dtype=np.int32)
    for part in range(lists):
        for row in range(rows):
            count = int(random.integers(0, width + 1))
            ids[part, row, :count] = random.permutation(labels)[:count]
    # Quarters, so that sums are exact and there are ties.
    values = random.integers(-4, 5, ids.shape).astype(np.float32) / 4
    weights = np.array([0.5, 1, 2], dtype=np.float32)
    best = np.full((rows, k), -1, dtype=np.int32)
    scores = np.full((rows, k), -np.inf, dtype=np.float32)
    add_lists(ids, values, weights, labels, threads, best, scores)
    for row in range(rows):
        total: dict[int, float] = {}
        for part in range(lists):
            for label, value in zip(ids[part, row], values[part, row], strict=True):
                if label >= 0:
                    total[int(label)] = total.get(int(label), 0) + float(weights[part] * value)
        expected = plain_ranking(total, k)
        assert best[row][best[row] >= 0].tolist() == expected
        assert scores[row, : len(expected)].tolist() == [total[label] for label in expected]
