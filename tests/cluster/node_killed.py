"""Trains `linear` into the folder argv[1] on a cluster of two nodes, one of which is killed meanwhile.

Prints how many pieces the cluster did after that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from loopback_nodes import two_nodes

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cluster.connection import connected
from tailwright.cluster.tasks import RayTasks
from tailwright.training import tree_shards
from tailwright.training.executor import executing_on


class KillsANode:
    """Kills a node as soon as the first shard is solved."""

    workers = 2

    def __init__(self, tasks: RayTasks, kill) -> None:
        self.tasks, self.kill, self.later = tasks, kill, 0

    def run(self, task, shared, pieces, *, memory_mb=0.0) -> Iterator:
        for done in self.tasks.run(task, shared, pieces, memory_mb=memory_mb):
            if task.__name__ == "solve_shard":
                self.kill()
                self.kill = lambda: None
                self.later += 1
            yield done


def main(out: Path) -> None:
    tree_shards.LABELS_A_SHARD = 3
    with two_nodes() as (nodes, second), connected("ray", workers=2) as cluster:
        executor = KillsANode(RayTasks(cluster), lambda: nodes.remove_node(second, allow_graceful=False))
        settings = {"trees": 3, "cluster_size": 2, "branching": 3}
        with executing_on(executor):
            tw.train(tiny_corpus(), "linear", settings=settings, seed=3, out=out)
        print(f"later: {executor.later}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
