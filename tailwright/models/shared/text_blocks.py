"""Texts in blocks, so that the features of all of them are never in memory at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from tailwright.data.dataset import arrow_strings
from tailwright.progress import progress


def text_blocks(
    texts: pa.LargeStringArray | Sequence[str], title: str, size: int = 4096
) -> Iterator[pa.LargeStringArray]:
    """The texts, `size` at a time, with a progress bar of that title."""
    rows = arrow_strings(texts)
    with progress(title, len(rows)) as advance:
        for start in range(0, len(rows), size):
            block = rows.slice(start, size)
            yield block
            advance(len(block))
