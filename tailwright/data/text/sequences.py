"""What sequence models read: padded token ids. And what any tokenizer must offer to give them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from tailwright.data.text.words import Texts
    from tailwright.store import FolderReader, FolderWriter


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """Token ids of a batch, padded on the right to its longest row. Every row has at least one token."""

    ids: np.ndarray  # (rows, longest) int32
    lengths: np.ndarray  # (rows,) int32, >= 1

    def __len__(self) -> int:
        return len(self.lengths)


class SequenceTokenizer(Protocol):
    """The seam between texts and sequence models; all ids that `encode` gives are in 0..size-1."""

    @property
    def padding_id(self) -> int:
        """The id that fills a row after its last token."""
        ...

    @property
    def size(self) -> int:
        """How many rows an embedding table needs."""
        ...

    def encode(self, texts: Texts, max_length: int) -> TokenBatch:
        """The ids of each text, cut to `max_length` tokens; a text without tokens gets one unknown token."""
        ...

    def save(self, folder: FolderWriter) -> None:
        """Writes all that `load` needs."""
        ...

    @staticmethod
    def load(folder: FolderReader) -> SequenceTokenizer:
        """What `save` wrote, checked."""
        ...


def padded(
    ids: np.ndarray, offsets: np.ndarray, max_length: int, *, padding: int, if_empty: int
) -> TokenBatch:
    """Rows `ids[offsets[i]:offsets[i + 1]]` cut to `max_length`; a row without ids becomes `[if_empty]`."""
    counts = np.diff(offsets)
    kept = np.minimum(counts, max_length)
    lengths = np.maximum(kept, 1).astype(np.int32)
    batch = np.full((len(counts), int(lengths.max(initial=0))), padding, dtype=np.int32)  # (rows, longest)
    if len(ids) > kept.sum():
        ids = ids[np.arange(len(ids)) - np.repeat(offsets[:-1], counts) < max_length]
    batch[np.arange(batch.shape[1]) < kept[:, None]] = ids
    batch[kept == 0, :1] = if_empty
    return TokenBatch(batch, lengths)
