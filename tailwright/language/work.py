"""Where long work on generators is kept: checkpoints, finished generators, shards of texts.

A folder is named by its kind and by a digest of all that its content depends on, so the same call finds its
own work again, finished or not. Work in one under `tailwright.store.keeping.alone(folder)`.

A shard has the candidates of some sources in one file, which is there whole or not at all: a line with the
digest of the rest, then JSON with a list for each source, best first, of pairs of a text and a score.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from tailwright.data.cache import cache_folder
from tailwright.store.shared import shared_folder
from tailwright.store.strict_json import decode, encode
from tailwright.store.whole_file import write_whole

Texts = list[tuple[str, float]]
"""Candidates of one source, with their scores"""


def work_folder(kind: str, key: str) -> Path:
    """`$TAILWRIGHT_SHARED/work/KIND-KEY` if that is set, else the same in the user's cache.

    It need not exist yet: whoever works in it makes it.
    """
    return work_folders() / f"{kind}-{key}"


def work_folders() -> Path:
    """Where all of them are."""
    return (shared_folder() or cache_folder()) / "work"


def write_shard(path: Path, candidates: Sequence[Texts]) -> None:
    """Keep the candidates of a shard's sources."""
    content = encode([[list(candidate) for candidate in texts] for texts in candidates], indent=None)
    write_whole(path, _digest(content) + b"\n" + content)


def read_shard(path: Path, sources: int) -> list[Texts] | None:
    """The candidates of a shard of so many sources; None if the file is missing or damaged."""
    try:
        digest, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    if digest != _digest(content):
        return None
    try:
        shard = [[(str(text), float(score)) for text, score in texts] for texts in decode(content)]
    except (TypeError, ValueError):
        return None
    return shard if len(shard) == sources else None


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).hexdigest().encode()
