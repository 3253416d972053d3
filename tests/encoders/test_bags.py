"""Embedding bags: torch's embedding_bag, forward and backward, over the words of a batch alone."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse

from tailwright.encoders.bags import Bags, joined, share_words
from tailwright.encoders.embedding_bags import EmbeddingBags, bag_sum

DENSE = np.array([[0, 2, 0, 0.5, 0], [0, 0, 0, 0, 0], [1, 0, 0, 3, 0]], dtype=np.float32)
BAGS = Bags.of(sparse.csr_array(DENSE))


def test_sums_and_gradients_equal_torch_embedding_bag():
    start = torch.from_numpy(np.random.Generator(np.random.Philox(key=3)).normal(size=(5, 4))).float()
    ours, theirs = (start.clone().requires_grad_() for _ in range(2))
    out = bag_sum(ours, BAGS)
    expected = torch.nn.functional.embedding_bag(
        torch.from_numpy(BAGS.words.astype(np.int64)),
        theirs,
        torch.from_numpy(BAGS.indptr[:-1]),
        mode="sum",
        per_sample_weights=torch.from_numpy(BAGS.weights),
    )
    torch.testing.assert_close(out, expected)
    for result in (out, expected):
        (result**2).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_shared_words_are_numbered_by_place_and_mean_the_same():
    table = np.arange(20, dtype=np.float32).reshape(5, 4)
    scratch = np.full(5, -1, dtype=np.int32)
    first, second = BAGS.take(np.array([2])), BAGS.take(np.array([0, 1]))
    words, (a, b) = share_words([first, second], scratch)
    assert words.tolist() == [0, 1, 3]
    np.testing.assert_array_equal(a.sum(table[words]), DENSE[[2]] @ table)
    np.testing.assert_array_equal(b.sum(table[words]), DENSE[:2] @ table)


def test_the_module_sums_several_bags_and_only_their_words_learn():
    vectors = np.arange(20, dtype=np.float32).reshape(5, 4)
    bags = EmbeddingBags(vectors.copy()).train()
    first, second = bags(BAGS.take(np.array([2])), BAGS.take(np.array([0, 1])))
    np.testing.assert_array_equal(first.detach(), DENSE[[2]] @ vectors)
    np.testing.assert_array_equal(second.detach(), DENSE[:2] @ vectors)
    (first.sum() + 2 * second.sum()).backward()
    words, gradient = bags.table.take_gradient()
    assert words.tolist() == [0, 1, 3]
    expected = DENSE[2, [0, 1, 3]] + 2 * DENSE[0, [0, 1, 3]]
    np.testing.assert_array_equal(gradient, np.tile(expected[:, None], 4))


def test_a_slice_is_its_rows():
    np.testing.assert_array_equal(BAGS.slice(1, 3).sum(np.eye(5, dtype=np.float32)), DENSE[1:])


def test_bags_can_be_joined_and_transposed():
    words, rows = np.eye(5, dtype=np.float32), np.eye(3, dtype=np.float32)
    several = joined([BAGS.take(np.array([2])), BAGS.slice(0, 0), BAGS.slice(0, 2)])
    np.testing.assert_array_equal(several.sum(words), DENSE[[2, 0, 1]])
    np.testing.assert_array_equal(BAGS.transposed(5).sum(rows), DENSE.T)
