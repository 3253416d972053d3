"""`in_shards`: texts for many sources, shard by shard, in files that survive a kill.

This process makes one shard after the other, or the workers of a cluster do (`tailwright.training.executor`),
each of which gets the language model once; the files are written by this process alone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import torch

from tailwright.errors import InputError
from tailwright.language.work import Texts, read_shard, write_shard
from tailwright.progress import Advance, progress
from tailwright.store.errors import errors_of_writing
from tailwright.store.keeping import alone
from tailwright.training.executor import Held, InProcess, current_executor

log = logging.getLogger(__name__)


class Author(Protocol):
    """A language model, and the sources that it is asked about."""

    @property
    def device(self) -> torch.device:
        """Where the model is."""

    def texts(self, places: np.ndarray, advance: Advance) -> list[Texts]:
        """Texts for each of the sources at these places; `advance` is told how many sources are done."""


@dataclass(frozen=True, eq=False)
class Shard:
    """Sources that are asked about together, as places among all; `number` is that of their file."""

    number: int
    places: np.ndarray

    def __len__(self) -> int:
        return len(self.places)

    def __str__(self) -> str:
        return f"{len(self)} sources of shard {self.number}, {self.places.min():,} to {self.places.max():,}"

    def halves(self) -> Sequence[Shard]:
        """Two shards of half the size, for a worker that has little memory."""
        middle = len(self) // 2
        parts = self.places[:middle], self.places[middle:]
        return tuple(Shard(self.number, part) for part in parts) if middle else ()


def in_shards(folder: Path, shards: Sequence[np.ndarray], author: Author, task: str) -> pa.LargeListArray:
    """A list of texts for each source, in the order of the shards, which are places of sources.

    The author is asked for shards that are not in the folder.
    """
    with alone(folder):
        return _all_texts(folder, shards, author, task)


def _all_texts(folder: Path, shards: Sequence[np.ndarray], author: Author, task: str) -> pa.LargeListArray:
    paths = [folder / f"{number:06}.json" for number in range(len(shards))]
    missing = [
        Shard(i, shards[i]) for i, path in enumerate(paths) if read_shard(path, len(shards[i])) is None
    ]
    left = sum(map(len, missing))
    total = sum(map(len, shards))
    if missing:
        with errors_of_writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        log.info("%s: %d of %d shards are there", task, len(shards) - len(missing), len(shards))
        # Earlier texts are not in the total, so that rate and time left are those of this run.
        there = f" ({total - left:,} of {total:,} are there)" if left < total else ""
        with progress(f"{task}{there}", left) as advance:
            for shard, texts in _made(author, missing, advance):
                write_shard(paths[shard.number], texts)
    return pa.chunked_array(
        [_kept_texts(path, len(shard)) for path, shard in zip(paths, shards, strict=True)],
        pa.large_list(pa.large_string()),
    ).combine_chunks()


def _made(author: Author, shards: Sequence[Shard], advance: Advance) -> Iterator[tuple[Shard, list[Texts]]]:
    """Shards with their texts, in the order in which they are done."""
    executor = current_executor()
    # A model on a GPU stays with it: workers have cores alone. Here progress within a shard is told.
    if isinstance(executor, InProcess) or author.device.type != "cpu":
        for shard in shards:
            yield shard, author.texts(shard.places, advance)
        return
    for number, texts in executor.run(_texts_of, Held(author), shards):
        advance(len(shards[number]))
        yield shards[number], texts


def _texts_of(held: Held[Author], shard: Shard) -> list[Texts]:
    return held.thing.texts(shard.places, lambda done: None)


def _kept_texts(path: Path, sources: int) -> pa.LargeListArray:
    shard = read_shard(path, sources)
    if shard is None:
        raise InputError("has changed while it was in use", expected="a shard of texts", path=path)
    return pa.array([[text for text, _ in texts] for texts in shard], pa.large_list(pa.large_string()))
