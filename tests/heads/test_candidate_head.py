"""Classifiers of labels that are scored and trained on candidates alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from tailwright.data.batch_targets import BatchTargets
from tailwright.heads.candidate_head import (
    CandidateDrawer,
    CandidateHead,
    CandidateLists,
    candidate_loss,
)

CANDIDATES = CandidateLists(
    np.array([0, 2, 2, 5]),
    np.array([0, 3, 1, 3, 2], np.int32),
    np.array([1, 0, 0.25, 0, 1], np.float32),
    np.array([1, 2, 0.5], np.float32),
)
_DRAWS = np.random.Generator(np.random.Philox(key=1))
LEAVES = [_DRAWS.standard_normal(shape, dtype=np.float32) for shape in ((3, 6), (4, 7))]


def plain_loss(queries: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """The loss of `CANDIDATES`, a pair at a time."""
    rows, labels = torch.tensor([0, 0, 2, 2, 2]), torch.from_numpy(CANDIDATES.labels.astype(np.int64))
    scores = (queries[rows] * table[labels, :-1]).sum(1) + table[labels, -1]
    losses = functional.binary_cross_entropy_with_logits(
        scores, torch.from_numpy(CANDIDATES.targets), reduction="none"
    )
    return (losses * torch.from_numpy(CANDIDATES.weights)[rows]).sum() / 3


def test_scores_have_the_bias_and_padding_stays_out():
    table = np.array([[1, 2, 10], [3, 4, 20]], dtype=np.float32)
    lists = np.array([[1, -1], [0, 1]], dtype=np.int32)
    scores = CandidateHead(table).scores(np.array([[1, 1], [0, 1]], np.float32), lists)
    assert scores.tolist() == [[27, -np.inf], [12, 24]]


def test_the_loss_of_candidates_is_that_of_torch_with_its_gradients():
    queries, table, same_queries, same_table = (
        torch.from_numpy(leaf.copy()).requires_grad_() for leaf in (*LEAVES, *LEAVES)
    )
    loss = candidate_loss(torch.cat([queries, torch.ones(3, 1)], 1), table, CANDIDATES)
    expected = plain_loss(same_queries, same_table)
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-5)
    loss.backward()
    expected.backward()
    for mine, theirs in ((queries, same_queries), (table, same_table)):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-4, atol=1e-6)


def test_only_the_candidates_of_a_batch_are_read_and_learn():
    queries, table = LEAVES
    head = CandidateHead(np.concatenate([np.full((1, 7), np.nan, np.float32), table])).train()
    later = replace(CANDIDATES, labels=CANDIDATES.labels + 1)  # the first label is nobody's candidate
    loss = head(torch.from_numpy(queries), later)
    leaf = torch.from_numpy(table.copy()).requires_grad_()
    expected = plain_loss(torch.from_numpy(queries), leaf)
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-5)
    loss.backward()
    expected.backward()
    labels, gradient = head.table.take_gradient()
    assert labels.tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(gradient, leaf.grad.numpy(), rtol=1e-4, atol=1e-6)


def test_candidates_are_positives_then_the_shortlist_then_labels_that_rows_carry():
    targets = BatchTargets(
        np.array([0, 1, 1]),
        np.array([3], np.int32),
        np.array([0.5], np.float32),
        np.array([0, 0, 1]),
        np.array([7], np.int32),
        np.array([1, 2], np.float32),
    )
    random = np.random.Generator(np.random.Philox(key=5))
    drawer = CandidateDrawer(np.array([8, 9]), 10, size=6, positives=2, random=30)
    drawn = drawer.random_labels(2, random)
    assert drawn.shape == (2, 30)
    assert set(drawn.ravel().tolist()) == {8, 9}
    shortlists = np.array([[3, 1, -1], [7, 0, 2]], np.int32)
    found = drawer(targets, shortlists, drawn, random)
    rows = np.split(found.labels, found.starts[1:-1])
    assert rows[0][:2].tolist() == [3, 1]
    assert rows[1][:2].tolist() == [0, 2]  # 7 is ignored in this row
    assert [sorted(row[2:].tolist()) for row in rows] == [[8, 9], [8, 9]]
    assert found.targets.tolist() == [0.5, 0, 0, 0, 0, 0, 0, 0]
    assert found.weights.tolist() == [1, 2]


def test_without_random_labels_nothing_is_drawn():
    random, untouched = (np.random.Generator(np.random.Philox(key=5)) for _ in range(2))
    drawer = CandidateDrawer(np.array([8, 9]), 10, size=6, positives=2, random=0)
    assert drawer.random_labels(3, random).shape == (3, 0)
    assert random.random() == untouched.random()
    none = CandidateDrawer(np.array([]), 10, size=6, positives=2, random=4)
    assert none.random_labels(3, random).shape == (3, 0)
