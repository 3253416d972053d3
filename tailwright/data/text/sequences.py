"""What sequence models read: token ids, ragged for a whole corpus and padded for a batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tailwright.store import DamagedFolderError, FolderReader, FolderWriter


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """Token ids of a batch, padded on the right to its longest row. Every row has at least one token."""

    ids: np.ndarray  # (rows, longest) int32
    lengths: np.ndarray  # (rows,) int32, >= 1

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def inside(self) -> np.ndarray:
        """(rows, longest) bool: where there is a token, not padding."""
        return np.arange(self.ids.shape[1]) < self.lengths[:, None]


@dataclass(frozen=True, eq=False)
class TokenRows:
    """The token ids of a column of texts, end to end: tokenised once, padded batch by batch.

    >>> rows = TokenRows(np.array([5, 6, 7], np.int32), np.array([0, 1, 3]), padding=0)
    >>> rows.batch(np.array([1, 0])).ids.tolist()
    [[6, 7], [5, 0]]
    """

    ids: np.ndarray  # (all tokens,) int32
    offsets: np.ndarray  # (rows + 1,) int64: where each row starts in `ids`; no row is empty
    padding: int  # the id that fills a batch

    def __post_init__(self) -> None:
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.ids) or bool((self.lengths < 1).any()):
            raise ValueError("offsets must go from 0 to the number of ids, each row with an id")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> np.ndarray:
        """(rows,) int64, tokens of each row."""
        return np.diff(self.offsets)

    def batch(self, rows: np.ndarray) -> TokenBatch:
        """These rows, in this order."""
        lengths = self.lengths[rows].astype(np.int32)
        longest = int(lengths.max(initial=0))
        places = np.arange(longest)
        inside = places < lengths[:, None]  # (rows, longest)
        ids = np.full((len(lengths), longest), self.padding, dtype=np.int32)
        ids[inside] = self.ids[(self.offsets[:-1][rows][:, None] + places)[inside]]
        return TokenBatch(ids, lengths)

    def padded(self) -> TokenBatch:
        return self.batch(np.arange(len(self)))

    def save(self, folder: FolderWriter) -> None:
        folder.json("tokens.json", {"padding": self.padding})
        folder.array("ids", self.ids)
        folder.array("offsets", self.offsets)

    @staticmethod
    def load(folder: FolderReader, *, rows: int, size: int) -> TokenRows:
        """What `save` wrote; it must have this number of rows and ids below `size`."""
        ids = folder.array("ids", dtype=np.int32, shape=(None,))
        offsets = folder.array("offsets", dtype=np.int64, shape=(rows + 1,))
        padding = folder.json("tokens.json").get("padding")
        if len(ids) and not 0 <= ids.min() <= ids.max() < size:
            raise DamagedFolderError(f"ids up to {ids.max()}", expected=f"below {size}", path=folder.path)
        try:
            return TokenRows(ids, offsets, int(padding))
        except (TypeError, ValueError) as error:
            raise DamagedFolderError(str(error), expected="rows of tokens", path=folder.path) from error


def cut_rows(
    ids: np.ndarray, offsets: np.ndarray, max_length: int, *, padding: int, if_empty: int
) -> TokenRows:
    """Rows `ids[offsets[i]:offsets[i + 1]]` cut to `max_length`; a row without ids becomes `[if_empty]`."""
    counts = np.diff(offsets)
    kept = np.minimum(counts, max_length)
    if len(ids) > kept.sum():
        ids = ids[np.arange(len(ids)) - np.repeat(offsets[:-1], counts) < max_length]
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.maximum(kept, 1))])
    if not bool(kept.all()):
        filled = np.full(int(starts[-1]), if_empty, dtype=np.int32)
        filled[np.repeat(kept > 0, np.maximum(kept, 1))] = ids
        ids = filled
    return TokenRows(ids.astype(np.int32, copy=False), starts, padding)
