"""`BagJoiner`: the bags of texts that have a label's text behind them, without reading a text again.

The joined bag is what the features make of the joined text, up to rounding, if in both texts a word of each
kind (words, pieces) occurs once, as in nearly every short text. Where every word of a kind occurs more often,
as in "knock knock", the counts of that text and kind are taken as if its least frequent word occurred once.
Both are tested. It needs features that weigh a word by (1 + ln count) idf, scaled to a fixed length a kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailwright.encoders.bags import Bags
from tailwright.encoders.subwords import SubwordTfIdf
from tailwright.kernels.joined_bags import join_bags


@dataclass(frozen=True, eq=False)
class BagJoiner:
    """Rows, and the texts that can be appended to them, with what their weights were made of."""

    rows: Bags
    others: Bags
    idf: np.ndarray  # (columns,) float64
    kinds: np.ndarray  # (kinds + 1,) int64: where the columns of each kind start

    @staticmethod
    def of(features: SubwordTfIdf, rows: Bags, others: Bags) -> BagJoiner:
        """For bags that these features made."""
        words = len(features.words.vocabulary)
        idf = np.concatenate([features.words.idf, features.idf])
        return BagJoiner(rows, others, idf, np.array([0, words, features.columns], dtype=np.int64))

    def take(self, rows: np.ndarray, appended: np.ndarray) -> Bags:
        """The bags at `rows` (batch,), each with the other at `appended` (batch,) behind it, -1 for none."""
        if not (appended >= 0).any():
            return self.rows.take(rows)
        mine, others = self.rows, self.others
        joined = join_bags(
            mine.indptr,
            mine.words,
            mine.weights,
            np.asarray(rows, dtype=np.int64),
            others.indptr,
            others.words,
            others.weights,
            appended,
            self.idf,
            self.kinds,
        )
        return Bags(*joined)
