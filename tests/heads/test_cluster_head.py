"""The head over clusters: its loss is torch's mean cross-entropy over all of them, block by block."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from tailwright.data.batch_targets import BatchTargets
from tailwright.heads import cluster_head
from tailwright.heads.cluster_head import ClusterHead, cluster_loss

WEIGHTS = torch.tensor([1, 0.5, 2, 0, 1])
TARGETS = BatchTargets(
    np.array([0, 1, 2, 3, 3, 4]),
    np.array([3, 4, 10, 0], dtype=np.int32),
    np.array([1, 0.5, 0.25, 1], dtype=np.float32),
    np.array([0, 0, 1, 1, 2, 3]),
    np.array([4, 4, 7], dtype=np.int32),
    WEIGHTS.numpy(),
)


def drawn(*shape: int) -> np.ndarray:
    return np.random.Generator(np.random.Philox(key=2)).standard_normal(shape, dtype=np.float32)


def plain_loss(rows: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """What `cluster_loss` is, with dense matrices (batch, clusters)."""
    targets, counted = torch.zeros(5, 11), torch.ones(5, 11)
    targets[TARGETS.rows, TARGETS.labels] = torch.from_numpy(TARGETS.values)
    counted[TARGETS.ignored_rows, TARGETS.ignored] = 0
    losses = functional.binary_cross_entropy_with_logits(rows @ table.T, targets, reduction="none")
    return (losses * counted * WEIGHTS[:, None]).mean()


def test_the_loss_over_all_clusters_is_the_mean_cross_entropy_with_its_gradients(monkeypatch):
    monkeypatch.setattr(cluster_head, "CLUSTERS_A_BLOCK", 4)
    leaves = drawn(5, 6), drawn(11, 6)
    rows, table, same_rows, same_table = (
        torch.from_numpy(leaf.copy()).requires_grad_() for leaf in (*leaves, *leaves)
    )
    loss, expected = cluster_loss(rows, table, TARGETS), plain_loss(same_rows, same_table)
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-5)
    (3 * loss).backward()
    (3 * expected).backward()
    for mine, theirs in ((rows, same_rows), (table, same_table)):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-4, atol=1e-7)


def test_the_last_column_of_the_table_is_the_bias():
    queries, table = torch.from_numpy(drawn(5, 6)), drawn(11, 7)
    head = ClusterHead(table).train()
    loss = head(queries, TARGETS)
    with_ones = torch.cat([queries, torch.ones(5, 1)], 1)
    leaf = torch.from_numpy(table.copy()).requires_grad_()
    expected = plain_loss(with_ones, leaf)
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-5)
    loss.backward()
    expected.backward()
    ids, gradient = head.table.take_gradient()
    assert ids.tolist() == list(range(11))
    np.testing.assert_allclose(gradient, leaf.grad.numpy(), rtol=1e-4, atol=1e-7)
