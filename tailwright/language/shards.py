"""A shard: the candidates of some sources in one file, which is there whole or not at all.

A file is a line with the digest of what follows, and JSON: for each source its candidates, best first, as
pairs of a text and a score.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from tailwright.store.strict_json import decode, encode
from tailwright.store.whole_file import write_whole

Texts = list[tuple[str, float]]
"""Candidates of one source"""


def write_shard(path: Path, candidates: Sequence[Texts]) -> None:
    """Keep the candidates of a shard's sources."""
    content = encode([[list(candidate) for candidate in texts] for texts in candidates], indent=None)
    write_whole(path, _digest(content) + b"\n" + content)


def read_shard(path: Path, sources: int) -> list[Texts] | None:
    """The candidates of a shard of so many sources; None where the file is missing or damaged."""
    try:
        digest, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    if digest != _digest(content):
        return None
    try:
        found = decode(content)
        shard = [[(str(text), float(score)) for text, score in texts] for texts in found]
    except (TypeError, ValueError):
        return None
    return shard if len(shard) == sources else None


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).hexdigest().encode()
