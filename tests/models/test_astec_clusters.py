"""The surrogate task of astec: its clusters, their targets, and the loss over all of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from tailwright.models.astec.cluster_loss import every_cluster_loss
from tailwright.models.astec.clusters import cluster_count, label_clusters, label_vectors

from tailwright.data.batch_targets import BatchTargets
from tailwright.data.dataset import Dataset, Origin, arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.models.astec import cluster_loss
from tailwright.training.losses import BlockPairs, binary_cross_entropy

PLAIN = {"steps": 50, "restart": 0.2, "top": 10, "seed": 0}


@pytest.mark.parametrize(
    ("labels", "wanted", "found"),
    [(1, 65_536, 1), (4, 65_536, 1), (5, 65_536, 2), (41_673, 65_536, 16_384), (41_673, 5000, 4096)],
)
def test_clusters_are_a_power_of_two_and_hold_some_labels_each(labels, wanted, found):
    assert cluster_count(labels, wanted) == found


def test_there_are_never_more_clusters_than_the_paper_has():
    assert cluster_count(3_000_000, 10**6) == 65_536


def test_label_vectors_come_from_original_rows_and_from_others_where_there_are_none():
    targets = pairs_from_lists([[0], [0], [0, 1]], 3)
    data = Dataset(
        arrow_strings(["a", "b", "c"]),
        targets,
        origin=Origin.concat([Origin.originals(2), Origin.made_by("gandalf", np.array([1]))]),
    )
    features = sparse.csr_array(np.eye(3, dtype=np.float32))
    found = label_vectors(data, features, rows="original", dense_from=0, **PLAIN).toarray()
    np.testing.assert_array_equal(found, [[1, 1, 0], [0, 0, 1], [0, 0, 0]])
    found = label_vectors(data, features, rows="all", dense_from=0, **PLAIN).toarray()
    np.testing.assert_array_equal(found, [[1, 1, 1], [0, 0, 1], [0, 0, 0]])


def test_smoothing_shares_the_rows_of_labels_that_occur_together():
    data = Dataset(arrow_strings(["a", "b", "c"]), pairs_from_lists([[0, 1], [0], [2]], 3))
    features = sparse.csr_array(np.eye(3, dtype=np.float32))
    found = label_vectors(data, features, rows="original", dense_from=5000, **PLAIN).toarray()
    assert found[1, 1] > 0  # a word of label 0's own row
    np.testing.assert_allclose(found[2], [0, 0, 1], rtol=1e-5)
    assert found[:2, 2].tolist() == [0, 0]


def test_labels_without_a_vector_are_in_no_cluster():
    vectors = sparse.csr_array(np.array([[1, 0], [0, 0], [0, 1], [1, 0.1]], np.float32))
    found = label_clusters(vectors, 2, seed=0)
    assert found[1] == -1
    assert sorted(np.unique(found).tolist()) == [-1, 0, 1]
    assert found[0] == found[3]


def test_the_loss_over_all_clusters_is_the_mean_cross_entropy_with_its_gradients(monkeypatch):
    monkeypatch.setattr(cluster_loss, "CLUSTERS_A_BLOCK", 4)
    torch_random = np.random.Generator(np.random.Philox(key=2))
    leaves = [torch_random.standard_normal(shape, dtype=np.float32) for shape in ((5, 6), (11, 7))]
    queries, table, same_queries, same_table = (
        torch.from_numpy(leaf.copy()).requires_grad_() for leaf in (*leaves, *leaves)
    )
    weights = torch.tensor([1, 0.5, 2, 0, 1])
    positives = BlockPairs.of(np.array([0, 1, 2, 4]), np.array([3, 4, 10, 0]), np.array([1, 0.5, 0.25, 1]))
    ignored = BlockPairs.of(np.array([1, 3, 4]), np.array([4, 4, 7]), np.ones(3))
    targets = BatchTargets(
        np.array([0, 1, 2, 3, 3, 4]),
        np.array([3, 4, 10, 0], dtype=np.int32),
        np.array([1, 0.5, 0.25, 1], dtype=np.float32),
        np.array([0, 0, 1, 1, 2, 3]),
        np.array([4, 4, 7], dtype=np.int32),
        weights.numpy(),
    )
    loss = every_cluster_loss(queries, table, targets)
    scores = torch.cat([same_queries, torch.ones(5, 1)], 1) @ same_table.T
    expected = binary_cross_entropy(scores, positives, ignored, weights) / 11
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-5)
    (3 * loss).backward()
    (3 * expected).backward()
    for mine, theirs in ((queries, same_queries), (table, same_table)):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-4, atol=1e-7)
