"""Batches are the rows of a step, changed by the mixes of the batch door in turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.streams import stream
from tailwright.training.batches import BatchDrawer, batch_stream, epoch_order


def test_mixes_change_the_drawn_batch_in_turn():
    data = Dataset(arrow_strings(["x"] * 3), pairs_from_lists([[0], [1, 2], []], 6))

    def everything_is_label_5(batch, random):
        starts = np.arange(len(batch.rows) + 1)
        labels, values = np.full(len(batch.rows), 5, np.int32), np.full(len(batch.rows), 0.25, np.float32)
        return replace(batch, targets=replace(batch.targets, starts=starts, labels=labels, values=values))

    def appends_the_first_label(batch, random):
        return replace(batch, appended=batch.targets.labels[batch.targets.starts[:-1]])

    draw = BatchDrawer(data, [everything_is_label_5, appends_the_first_label])
    batch = draw(np.array([2, 1]), stream(0, "mixes"))
    assert (batch.targets.labels.tolist(), batch.rows.tolist()) == ([5, 5], [2, 1])
    assert batch.targets.values.tolist() == [0.25, 0.25]
    assert batch.appended.tolist() == [5, 5]


def test_without_mixes_the_drawn_batch_is_the_rows_as_they_are():
    data = Dataset(arrow_strings(["x"] * 3), pairs_from_lists([[0], [2, 1], []], 6, [[0.5], [1, 0.25], []]))
    random = stream(0, "plain")
    batch = BatchDrawer(data)(np.array([1, 2, 0]), random)
    targets = batch.targets
    assert (targets.starts.tolist(), targets.labels.tolist()) == ([0, 2, 2, 3], [1, 2, 0])
    assert (targets.values.tolist(), batch.appended.tolist()) == ([0.25, 1, 0.5], [-1, -1, -1])
    # Nothing is drawn for what is not there, so that a run without mixes draws what it always drew.
    assert random.random() == stream(0, "plain").random()


def test_order_and_draws_are_keyed_by_seed_phase_and_place():
    orders = [epoch_order(50, *key).tolist() for key in ((0, "a", 0), (0, "a", 1), (0, "b", 0), (1, "a", 0))]
    assert len({tuple(order) for order in orders}) == 4
    assert orders[0] == epoch_order(50, 0, "a", 0).tolist()
    assert batch_stream(0, "a", 1).random() != batch_stream(0, "a", 2).random()
