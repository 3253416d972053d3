"""Tables that processes have parts of: whole in files, and cut out of them."""

from __future__ import annotations

import numpy as np
import pytest

from tailwright.heads.shards import LabelShard
from tailwright.training.loop import _stand_by
from tailwright.training.phases import Phase, Plan
from tailwright.training.sharing import made_whole, own_parts, shard_of, whole_shape
from tailwright.training.team import ALONE, Team

SHARDS = {"head.weight": LabelShard(2, 5, 9)}


@pytest.mark.parametrize("key", ["head.weight", "mean.head.weight", "head.weight.mean", "head.weight.square"])
def test_weights_means_and_moments_are_parts(key):
    assert shard_of(key, SHARDS) == LabelShard(2, 5, 9)
    whole = np.arange(18).reshape(9, 2)
    np.testing.assert_array_equal(own_parts({key: whole}, SHARDS)[key], whole[2:5])


@pytest.mark.parametrize("key", ["head.weight.steps", "head.bias", "encoder.weight", "/clip.norms"])
def test_what_has_no_row_a_label_stays_as_it_is(key):
    array = np.arange(3)
    assert own_parts({key: array}, SHARDS)[key] is array
    assert made_whole({key: array}, SHARDS, ALONE, None)[key] is array
    assert whole_shape(key, (3,), SHARDS) == (3,)


@pytest.mark.parametrize("rows", [0, 7])
def test_the_part_of_a_process_alone_is_the_whole_table(tmp_path, rows):
    table = np.arange(2.0 * rows, dtype=np.float32).reshape(rows, 2)
    found = made_whole({"table": table}, {"table": ALONE.part(rows)}, ALONE, tmp_path)["table"]
    np.testing.assert_array_equal(found, table)
    assert not any(tmp_path.iterdir())


class Counted(Phase):
    stood_by = 0

    def loss(self, rows, random, epoch):
        raise AssertionError

    def stand_by(self):
        self.stood_by += 1


@pytest.mark.parametrize(
    ("rows", "micro_batch", "expected"),
    [(6, None, [0, 0, 0]), (2, None, [0, 0, 1]), (7, 1, [0, 1, 1]), (7, 2, [0, 1, 1]), (6, 1, [0, 0, 0])],
)
def test_whoever_has_fewer_losses_than_the_leader_stands_by(rows, micro_batch, expected):
    found = []
    for rank in range(3):
        phase = Counted("counted", rows, Plan(1, rows, micro_batch=micro_batch))
        _stand_by(phase, rows, Team(rank, 3))
        found.append(phase.stood_by)
    assert found == expected
