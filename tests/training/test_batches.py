"""Batches share one block of labels; positives and ignored pairs are found in it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import datasets

from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.streams import stream
from tailwright.training.batches import BlockMaker, batch_stream, epoch_order


@given(datasets(min_rows=1), st.integers(0, 4), st.data())
def test_the_block_holds_every_positive_with_its_value(data, sampled, draw):
    rows = np.array(draw.draw(st.permutations(range(len(data)))))[: max(1, len(data) // 2)]
    hard = np.array([0, -1, data.labels - 1])
    batch = BlockMaker(data, sampled).make(rows, stream(0, "test"), hard)
    assert batch.labels.tolist() == sorted(set(batch.labels.tolist()))
    assert {0, data.labels - 1} <= set(batch.labels.tolist())
    for pairs, column in ((batch.positives, data.targets), (batch.ignored, data.ignored)):
        dense = np.zeros((len(rows), len(batch.labels)), dtype=np.float32)
        dense[pairs.rows.numpy(), pairs.columns.numpy()] = pairs.values.numpy()
        np.testing.assert_array_equal(dense, column.toarray()[rows][:, batch.labels])
    outside = np.setdiff1d(np.arange(data.labels), batch.labels)
    assert data.targets.toarray()[rows][:, outside].sum() == 0
    np.testing.assert_array_equal(batch.weights.numpy(), data.weights[rows])


def test_the_chance_of_a_label_is_how_often_it_is_in_a_block():
    ids = [[0], [0], [0, 1], [], [0], [2], [], []]
    data = Dataset(arrow_strings(["x"] * len(ids)), pairs_from_lists(ids, 6))
    maker = BlockMaker(data, 2)
    seen = np.zeros(6)
    draws = 4000
    for draw in range(draws):
        random = stream(0, "chance", draw)
        seen[maker.make(random.integers(0, len(ids), 3), random).labels] += 1
    np.testing.assert_allclose(np.exp(maker.log_chances(3)), seen / draws, atol=0.03)


def test_order_and_draws_are_keyed_by_seed_phase_and_place():
    orders = [epoch_order(50, *key).tolist() for key in ((0, "a", 0), (0, "a", 1), (0, "b", 0), (1, "a", 0))]
    assert len({tuple(order) for order in orders}) == 4
    assert orders[0] == epoch_order(50, 0, "a", 0).tolist()
    assert batch_stream(0, "a", 1).random() != batch_stream(0, "a", 2).random()
