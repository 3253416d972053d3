"""Ray Data from files to labelled shards: tasks that read, actors that label, a line for each shard.

Blocks stream: readers wait while labellers are busy, so memory stays flat whatever the number of rows. Ray
starts an actor that died again and gives it its shards once more, without end: the labeller counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tailwright.cluster.connection import Cluster
from tailwright.cluster.input_shards import InputShards
from tailwright.cluster.labeller import Labeller, Labelling
from tailwright.cluster.shard_blocks import FILE, SUMMARY, read_shards

SHARDS_A_WORKER = 2  # one under way and one that waits: a worker never waits for the driver


@dataclass(frozen=True)
class Pipeline:
    """Shards to label, with what, and by how many workers."""

    work: Labelling
    inputs: InputShards
    wanted: frozenset[int]
    cluster: Cluster

    def lines(self) -> Iterator[str]:
        """A line for each shard, in the order in which they are done."""
        import ray
        from ray.data import ActorPoolStrategy, TaskPoolStrategy

        files = [
            {FILE: place}
            for place, file in enumerate(self.inputs.files)
            if not self.wanted.isdisjoint(range(file.first_shard, file.first_shard + file.shards))
        ]
        workers = min(self.cluster.workers, len(self.wanted))
        with ray.data.DataContext.current(_context(ray.data.DataContext)):
            shards = ray.data.from_items(files, override_num_blocks=len(files)).map_batches(
                read_shards,
                batch_size=1,
                batch_format="pyarrow",
                fn_kwargs={"inputs": self.inputs, "wanted": self.wanted},
                compute=TaskPoolStrategy(size=min(len(files), workers)),
                num_cpus=0,  # cores are for labellers; reading takes a small part of one
            )
            said = shards.map_batches(
                Labeller,
                batch_size=None,
                batch_format="pyarrow",
                fn_constructor_args=(self.work,),
                compute=ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=SHARDS_A_WORKER),
                num_cpus=self.cluster.threads,
            )
            for batch in said.iter_batches(batch_size=None, batch_format="pyarrow"):
                yield from batch[SUMMARY].to_pylist()


def _context(kind: Any) -> Any:
    """The settings of Ray Data here: no bars, and a block for each shard."""
    context = kind.get_current().copy()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.target_max_block_size = 1  # byte: a block is handed on as soon as it has a row
    return context
