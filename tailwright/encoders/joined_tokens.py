"""`TokenJoiner`: the tokens of texts with a label's text appended, made without reading a text again.

The tokens of the label stand directly behind the last token of the row, before any padding, and what is over
the limit is cut off, so the joined row is what the joined text would be read as.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailwright.data.text.sequences import TokenBatch, TokenRows


@dataclass(frozen=True, eq=False)
class TokenJoiner:
    """The tokens of rows and of the texts that can be appended to them.

    >>> rows = TokenRows(np.array([5, 6, 7], np.int32), np.array([0, 1, 3]), padding=0)
    >>> others = TokenRows(np.array([8, 9], np.int32), np.array([0, 2]), padding=0)
    >>> TokenJoiner(rows, others, 3).batch(np.array([1, 0, 0]), np.array([0, 0, -1])).ids.tolist()
    [[6, 7, 8], [5, 8, 9], [5, 0, 0]]
    """

    rows: TokenRows
    others: TokenRows
    max_length: int

    def batch(self, rows: np.ndarray, appended: np.ndarray) -> TokenBatch:
        """The rows at `rows` (batch,), each joined with the text at `appended` (batch,), -1 for none."""
        batch = self.rows.batch(rows)
        joined = np.flatnonzero(appended >= 0)
        if not len(joined):
            return batch
        others = self.others.batch(appended[joined])
        lengths = batch.lengths.copy()
        lengths[joined] = np.minimum(lengths[joined] + others.lengths, self.max_length)
        ids = np.full((len(rows), int(lengths.max())), self.rows.padding, dtype=np.int32)
        ids[:, : batch.ids.shape[1]] = batch.ids
        places = batch.lengths[joined, None] + np.arange(others.ids.shape[1])  # (joined, longest of others)
        kept = others.inside & (places < self.max_length)
        ids[np.broadcast_to(joined[:, None], kept.shape)[kept], places[kept]] = others.ids[kept]
        return TokenBatch(ids, lengths)
