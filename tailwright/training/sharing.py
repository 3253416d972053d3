"""Tables of labels of which each process of a team has a part: made whole for a file, and cut out of one.

A checkpoint and a run hold whole tables, as those of one process do; so a training can be resumed by another
number of processes. Tables are made whole on the disk, a block at a time: no process need have the memory for
all of one.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from tailwright.heads.shards import LabelShard
from tailwright.training.named_arrays import Arrays
from tailwright.training.team import Team

NUMBERS_A_BLOCK = 2**22  # that are sent at a time

Shards = Mapping[str, LabelShard]  # by the name of the parameter


def shard_of(key: str, shards: Shards) -> LabelShard | None:
    """The part that an array of a checkpoint is: of a parameter, of its mean, or of its moments."""
    for name, shard in shards.items():
        if key in {name, f"mean.{name}", f"{name}.mean", f"{name}.square"}:
            return shard
    return None


def everybodys_rows(mine: np.ndarray, shard: LabelShard, team: Team) -> Iterator[tuple[int, np.ndarray]]:
    """(the first row, rows) of the whole table, a block after the other; all processes must go through it."""
    rows = max(1, NUMBERS_A_BLOCK // max(math.prod(mine.shape[1:]), 1))
    for rank in range(team.size):
        theirs = Team(rank, team.size).part(shard.total)
        for start in range(theirs.start, theirs.end, rows):
            end = min(start + rows, theirs.end)
            if rank == team.rank:
                block = mine[start - shard.start : end - shard.start].copy()
            else:
                block = np.empty((end - start, *mine.shape[1:]), dtype=mine.dtype)
            team.same(block, source=rank)
            yield start, block


def whole_table(mine: np.ndarray, shard: LabelShard, team: Team, folder: Path | None) -> np.ndarray:
    """The whole table, in a file without a name, in that folder or where temporary files are."""
    shape = (shard.total, *mine.shape[1:])
    if not math.prod(shape):
        return np.empty(shape, dtype=mine.dtype)
    with tempfile.TemporaryFile(dir=folder) as file:
        table: np.ndarray = np.memmap(file, dtype=mine.dtype, mode="w+", shape=shape)
    for start, block in everybodys_rows(mine, shard, team):
        table[start : start + len(block)] = block
    return table


def made_whole(arrays: Arrays, shards: Shards, team: Team, folder: Path | None) -> Arrays:
    """The arrays with whole tables instead of parts, while all others `lend` theirs."""
    found = {}
    for key, array in arrays.items():
        shard = shard_of(key, shards)
        found[key] = array if shard is None else whole_table(array, shard, team, folder)
    return found


def lend(arrays: Arrays, shards: Shards, team: Team) -> None:
    """Give the own parts to a process that makes the same arrays whole."""
    for key, array in arrays.items():
        shard = shard_of(key, shards)
        for _ in () if shard is None else everybodys_rows(array, shard, team):
            pass


def own_parts(arrays: Arrays, shards: Shards) -> Arrays:
    """The arrays with the own parts of whole tables."""
    found = {}
    for key, array in arrays.items():
        shard = shard_of(key, shards)
        found[key] = array if shard is None else array[shard.rows].copy()
    return found


def whole_shape(name: str, shape: tuple[int, ...], shards: Shards) -> tuple[int, ...]:
    """The shape of a whole table, given that of a part; that of any other array as it is."""
    shard = shards.get(name)
    return shape if shard is None else (shard.total, *shape[1:])
