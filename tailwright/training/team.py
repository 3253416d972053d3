"""Several processes that train one model: each takes its share of every batch, gradients are added up.

`torchrun --nproc-per-node 2 -m tailwright train ...` starts the same command in each process. All do the same
but for the steps of the training loop, where a process sees its share of the rows, and for writing: only the
process of rank 0, which leads, writes logs, checkpoints and the run. Validation is the leader's, too; what it
finds is told to the others, so that all stop at the same step. Where labels are shared out as well
(`tailwright.training.sharing`), all validate, and lend their labels to the leader's checkpoints.

Outside `working_together`, and in a process that was started alone, the team is of one, and nothing here
touches a number.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from tailwright.heads.shards import LabelShard

if TYPE_CHECKING:
    import numpy as np
    import torch

    from tailwright.training.optimisers import DenseOptimiser

# A validation or the features of a large corpus may keep the others waiting for long.
PATIENCE = timedelta(days=1)


@dataclass(frozen=True)
class Team:
    """This process, of rank 0..size-1, among those that train together."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def share(self, rows: np.ndarray) -> np.ndarray:
        """Those of a batch's rows that are this process's: one after the other, as equal as can be."""
        return rows[self.place(len(rows)) : Team(self.rank + 1, self.size).place(len(rows))]

    def place(self, rows: int) -> int:
        """Where this process's share of so many rows begins."""
        return self.rank * (rows // self.size) + min(self.rank, rows % self.size)

    def wait(self) -> None:
        """Until all are here."""
        if self.size > 1:
            import torch.distributed as dist

            dist.barrier()

    def told(self, ask: Callable[[], float | None]) -> float | None:
        """What `ask` gives to the leader, who alone asks."""
        if self.size == 1:
            return ask()
        import torch

        found = ask() if self.leads else None
        message = torch.tensor([found is not None, found or 0.0], dtype=torch.float64)
        self.same(message)
        return float(message[1]) if message[0] else None

    def total(self, value: float) -> float:
        """The sum of everybody's value."""
        if self.size == 1:
            return value
        import torch

        message = torch.tensor([value], dtype=torch.float64)
        self._add(message)
        return float(message)

    def add(self, numbers: torch.Tensor) -> None:
        """Replace the numbers by the sum of everybody's."""
        if self.size > 1:
            if numbers.is_cuda:
                on_cpu = numbers.cpu()
                self._add(on_cpu)
                numbers.copy_(on_cpu)
            else:
                self._add(numbers)

    def part(self, rows: int) -> LabelShard:
        """Those of so many rows of a table that are this process's, where each has some of them."""
        return LabelShard(self.place(rows), Team(self.rank + 1, self.size).place(rows), rows)

    def gather(self, arrays: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
        """Everybody's arrays, by rank; those at one place differ in their length alone."""
        if self.size == 1:
            return [list(arrays)]
        import numpy as np
        import torch
        import torch.distributed as dist

        lengths = torch.tensor([len(array) for array in arrays])
        of_all = [torch.empty_like(lengths) for _ in range(self.size)]
        dist.all_gather(of_all, lengths)
        # All messages must be of one length: padded to the longest.
        widths = [array.dtype.itemsize * math.prod(array.shape[1:]) for array in arrays]
        sizes = [int((one * torch.tensor(widths)).sum()) for one in of_all]
        message = torch.zeros(max(sizes), dtype=torch.uint8)
        packed = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
        message[: len(packed)] = torch.from_numpy(np.frombuffer(packed, dtype=np.uint8).copy())
        messages = [torch.empty_like(message) for _ in range(self.size)]
        dist.all_gather(messages, message)
        found = []
        for one, told in zip(of_all, messages, strict=True):
            ends = np.cumsum(one.numpy() * np.array(widths))
            pieces = np.split(told.numpy(), ends)[:-1]
            found.append(
                [
                    piece.copy().view(array.dtype).reshape(int(length), *array.shape[1:])
                    for piece, array, length in zip(pieces, arrays, one, strict=True)
                ]
            )
        return found

    def same(self, numbers: torch.Tensor | np.ndarray, *, source: int = 0) -> None:
        """Give everybody the numbers of one process, the leader's unless another is named, in place."""
        if self.size > 1:
            import torch
            import torch.distributed as dist

            dist.broadcast(torch.as_tensor(numbers), src=source)

    def add_gradients(self, optimisers: Collection[DenseOptimiser]) -> None:
        """Replace each gradient by the sum of everybody's; a process may lack the gradient of a parameter."""
        if self.size == 1:
            return
        import torch

        # A parameter that nobody's rows reached must stay without a gradient, as it would with one process.
        reached = torch.tensor([float(optimiser.gradient is not None) for optimiser in optimisers])
        self._add(reached)
        for count, optimiser in zip(reached.tolist(), optimisers, strict=True):
            if count:
                self._add(torch.as_tensor(optimiser.filled()))

    def gather_rows(
        self, touched: tuple[np.ndarray, np.ndarray] | None, width: int
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Everybody's (row ids, gradient (rows, width)) of a table by rank; those without are left out."""
        if self.size == 1:
            return [] if touched is None else [touched]
        import numpy as np
        import torch
        import torch.distributed as dist

        none = (np.empty(0, np.int64), np.empty((0, width), np.float32))
        ids, values = none if touched is None else touched
        counts = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        dist.all_gather(counts, torch.tensor([len(ids)]))
        longest = max(int(count) for count in counts)
        if not longest:
            return []
        # All messages must be of one length: padded to the longest.
        my_ids, my_values = torch.zeros(longest, dtype=torch.int64), torch.zeros(longest, width)
        my_ids[: len(ids)] = torch.from_numpy(np.asarray(ids, dtype=np.int64))
        my_values[: len(ids)] = torch.from_numpy(values)
        all_ids = [torch.empty_like(my_ids) for _ in counts]
        all_values = [torch.empty_like(my_values) for _ in counts]
        dist.all_gather(all_ids, my_ids)
        dist.all_gather(all_values, my_values)
        found = zip((int(count) for count in counts), all_ids, all_values, strict=True)
        return [(i[:count].numpy(), v[:count].numpy()) for count, i, v in found if count]

    @staticmethod
    def _add(tensor: torch.Tensor) -> None:
        import torch.distributed as dist

        dist.all_reduce(tensor)


ALONE = Team()
_teams = [ALONE]  # the last one is at work


def current_team() -> Team:
    """The team that this process works in at the moment."""
    return _teams[-1]


def started_team() -> Team:
    """The team that this process was started in (torchrun and accelerate say so in the environment)."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    return Team(int(os.environ.get("RANK", "0")), size) if size > 1 else ALONE


def local_rank() -> int | None:
    """The number of this process among those of the team on this machine; None where it is alone."""
    return None if started_team() is ALONE else int(os.environ.get("LOCAL_RANK", "0"))


@contextmanager
def connected() -> Iterator[Team]:
    """The started team, with its processes connected while it lasts."""
    team = started_team()
    if team is ALONE:
        yield team
        return
    import torch
    import torch.distributed as dist

    opened, backend = not dist.is_initialized(), "gloo"
    if opened:
        if torch.cuda.is_available():
            torch.cuda.set_device(local_rank() or 0)
            backend = "cpu:gloo,cuda:nccl"  # gradients of tables are on the CPU in any case
        dist.init_process_group(backend, timeout=PATIENCE)
    try:
        yield team
    finally:
        if opened:
            dist.destroy_process_group()


@contextmanager
def working_together(team: Team) -> Iterator[None]:
    """Within it the training loop shares its batches with the team."""
    _teams.append(team)
    try:
        yield
    finally:
        _teams.pop()
