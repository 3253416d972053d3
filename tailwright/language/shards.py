"""`in_shards`: texts for many sources, shard by shard, in files that survive a kill."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from tailwright.errors import InputError
from tailwright.language.work import Texts, read_shard, write_shard
from tailwright.progress import Advance, progress
from tailwright.store.errors import errors_of_writing
from tailwright.store.keeping import alone

log = logging.getLogger(__name__)


def in_shards(
    folder: Path,
    shards: Sequence[np.ndarray],
    texts_of: Callable[[np.ndarray, Advance], list[Texts]],
    task: str,
) -> pa.LargeListArray:
    """A list of texts for each source, in the order of the shards, which are places of sources.

    Shards that are not in the folder are made by `texts_of`, which says how many sources it is done with.
    """
    with alone(folder):
        return _all_texts(folder, shards, texts_of, task)


def _all_texts(
    folder: Path,
    shards: Sequence[np.ndarray],
    texts_of: Callable[[np.ndarray, Advance], list[Texts]],
    task: str,
) -> pa.LargeListArray:
    paths = [folder / f"{number:06}.json" for number in range(len(shards))]
    missing = [i for i, path in enumerate(paths) if read_shard(path, len(shards[i])) is None]
    left = sum(len(shards[i]) for i in missing)
    total = sum(map(len, shards))
    if missing:
        with errors_of_writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        log.info("%s: %d of %d shards are there", task, len(shards) - len(missing), len(shards))
        # Earlier texts are not in the total, so that rate and time left are those of this run.
        there = f" ({total - left:,} of {total:,} are there)" if left < total else ""
        with progress(f"{task}{there}", left) as advance:
            for i in missing:
                write_shard(paths[i], texts_of(shards[i], advance))
    return pa.chunked_array(
        [_kept_texts(path, len(shard)) for path, shard in zip(paths, shards, strict=True)],
        pa.large_list(pa.large_string()),
    ).combine_chunks()


def _kept_texts(path: Path, sources: int) -> pa.LargeListArray:
    shard = read_shard(path, sources)
    if shard is None:
        raise InputError("has changed while it was in use", expected="a shard of texts", path=path)
    return pa.array([[text for text, _ in texts] for texts in shard], pa.large_list(pa.large_string()))
