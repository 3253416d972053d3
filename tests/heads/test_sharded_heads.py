"""Processes that have a part of the labels each compute what one computes with all."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch

from tailwright.data.batch_targets import BatchTargets, starts_of
from tailwright.encoders.encoded import Encoded
from tailwright.heads.dense import DenseHead
from tailwright.heads.sharded_dense import ShardedDenseHead
from tailwright.streams import stream
from tailwright.training.team import Team

WIDTH = 5


@dataclass
class Table:
    """Where threads that stand for processes meet."""

    size: int
    told: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.barrier = threading.Barrier(self.size)

    def exchange(self, rank, message):
        self.told[rank] = message
        self.barrier.wait(60)
        found = [self.told[other] for other in range(self.size)]
        self.barrier.wait(60)
        return found


@dataclass
class Together:
    rank: int
    size: int
    table: Table

    def gather(self, arrays):
        return self.table.exchange(self.rank, list(arrays))

    def add(self, numbers):
        everybody = self.table.exchange(self.rank, numbers.clone())
        numbers.copy_(torch.stack(everybody).sum(0))

    def total(self, value):
        return sum(self.table.exchange(self.rank, value))


def batch(rows: int, labels: int, *, weighed: bool) -> tuple[torch.Tensor, BatchTargets]:
    """Hidden states and soft targets, ignored pairs and weights."""
    draws = stream(rows, "batch")
    chosen, ignored = draws.random((2, rows, labels)) < 0.3
    of_rows, of_labels = np.nonzero(chosen)
    ignored_rows, ignored_labels = np.nonzero(ignored)
    targets = BatchTargets(
        starts_of(of_rows, rows),
        of_labels.astype(np.int32),
        draws.uniform(0.1, 1, len(of_rows)).astype(np.float32),
        starts_of(ignored_rows, rows),
        ignored_labels.astype(np.int32),
        draws.uniform(0.5, 2, rows).astype(np.float32),
    )
    if weighed:
        of_each, made = draws.random(labels).astype(np.float32), (draws.random(rows) < 0.5).astype(np.float32)
        targets = replace(targets, label_weights=of_each, made=made)
    return torch.from_numpy(draws.standard_normal((rows, WIDTH), dtype=np.float32)), targets


def rows_of(targets: BatchTargets, rows: np.ndarray) -> BatchTargets:
    """The targets of some rows, one after the other."""
    begin, end = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
    first, last = targets.starts[[begin, end]]
    first_ignored, last_ignored = targets.ignored_starts[[begin, end]]
    return replace(
        targets,
        starts=targets.starts[begin : end + 1] - first,
        labels=targets.labels[first:last],
        values=targets.values[first:last],
        ignored_starts=targets.ignored_starts[begin : end + 1] - first_ignored,
        ignored=targets.ignored[first_ignored:last_ignored],
        weights=targets.weights[begin:end],
        made=None if targets.made is None else targets.made[begin:end],
    )


def by_all(size: int, work) -> list:
    """What `work(team, together)` gives in each of so many threads."""
    table = Table(size)
    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(lambda rank: work(Team(rank, size), Together(rank, size, table)), range(size)))


@pytest.mark.parametrize("mean", ["pairs", "rows"])
@pytest.mark.parametrize(("size", "rows", "labels"), [(2, 7, 11), (3, 2, 8), (3, 6, 2), (2, 1, 1)])
@pytest.mark.parametrize("weighed", [False, True])
def test_losses_and_gradients_are_those_of_the_whole_head(size, rows, labels, mean, weighed):
    states, targets = batch(rows, labels, weighed=weighed)
    whole = DenseHead(labels, WIDTH, seed=3, name="head")
    leaf = states.clone().requires_grad_()
    loss = whole(Encoded(leaf, None), targets, mean=mean)
    loss.backward()

    def learnt(team, together):
        head = ShardedDenseHead(team.part(labels), WIDTH, together, seed=3, name="head")
        mine = team.share(np.arange(rows))
        own = states[torch.from_numpy(mine)].clone().requires_grad_()
        found = head(Encoded(own, None), rows_of(targets, mine), mean=mean)
        found.backward()
        share = len(mine) / rows
        return float(found.detach()), own.grad * share, head.weight.grad / rows, head.bias.grad / rows

    losses, of_states, of_weights, of_biases = zip(*by_all(size, learnt), strict=True)
    np.testing.assert_allclose(losses, float(loss.detach()), rtol=1e-5)
    for found, wanted in ((of_states, leaf), (of_weights, whole.weight), (of_biases, whole.bias)):
        torch.testing.assert_close(torch.cat(found), wanted.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("size", "labels", "k"), [(2, 11, 4), (3, 8, 8), (3, 2, 5)])
def test_the_best_of_the_parts_are_the_best_of_all(size, labels, k):
    states, _ = batch(6, labels, weighed=False)
    states[1] = 0  # equal logits but for the biases
    wanted = DenseHead(labels, WIDTH, seed=3, name="head").top_k(Encoded(states, None), k)

    def ranked(team, together):
        head = ShardedDenseHead(team.part(labels), WIDTH, together, seed=3, name="head")
        return head.top_k(Encoded(states, None), k)

    for found in by_all(size, ranked):
        np.testing.assert_array_equal(found.ids, wanted.ids)
        # A product of fewer columns is rounded otherwise on some processors: by a unit of its largest terms.
        np.testing.assert_allclose(found.scores, wanted.scores, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("start", ["fan-in", "xavier"])
def test_parts_start_with_the_weights_of_the_whole(start, monkeypatch):
    monkeypatch.setattr("tailwright.heads.initial.DRAWN_AT_A_TIME", 7)
    whole = DenseHead(10, WIDTH, seed=3, name="head", start=start)
    parts = [
        DenseHead(10, WIDTH, seed=3, name="head", start=start, part=Team(rank, 3).part(10))
        for rank in range(3)
    ]
    torch.testing.assert_close(torch.cat([part.weight for part in parts]), whole.weight, rtol=0, atol=0)
    torch.testing.assert_close(torch.cat([part.bias for part in parts]), whole.bias, rtol=0, atol=0)
