"""Batches share one block of labels; positives and ignored pairs are found in it."""

from __future__ import annotations

from dataclasses import replace

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


def test_mixes_change_the_drawn_batch_in_turn_and_the_block_follows():
    ids = [[0], [1, 2], []]
    data = Dataset(arrow_strings(["x"] * 3), pairs_from_lists(ids, 6))

    def everything_is_label_5(batch, random):
        ends = np.arange(len(batch.rows) + 1)
        labels, values = np.full(len(batch.rows), 5, np.int32), np.full(len(batch.rows), 0.25, np.float32)
        return replace(batch, ends=ends, labels=labels, values=values)

    def appends_the_first_label(batch, random):
        return replace(batch, appended=batch.labels[batch.ends[:-1]])

    rows = np.array([2, 1])
    maker = BlockMaker(data, 0, [everything_is_label_5, appends_the_first_label])
    batch = maker.make(rows, stream(0, "mixes"))
    assert batch.labels.tolist() == [5]
    assert batch.positives.rows.tolist() == [0, 1]
    assert batch.positives.values.tolist() == [0.25, 0.25]
    assert batch.appended.tolist() == [5, 5]
    drawn = maker.draw(rows, stream(0, "mixes"))
    assert (drawn.labels.tolist(), drawn.rows.tolist()) == ([5, 5], [2, 1])


def test_without_mixes_the_drawn_batch_is_the_rows_as_they_are():
    data = Dataset(arrow_strings(["x"] * 3), pairs_from_lists([[0], [2, 1], []], 6, [[0.5], [1, 0.25], []]))
    random = stream(0, "plain")
    drawn = BlockMaker(data, 2).draw(np.array([1, 2, 0]), random)
    assert (drawn.ends.tolist(), drawn.labels.tolist()) == ([0, 2, 2, 3], [1, 2, 0])
    assert (drawn.values.tolist(), drawn.appended.tolist()) == ([0.25, 1, 0.5], [-1, -1, -1])
    # Nothing is drawn for what is not there, so that a run without mixes draws what it always drew.
    assert random.random() == stream(0, "plain").random()


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
