"""`BagJoiner`: the bags of texts with a label's text appended, made without reading a text again.

The joined bag is what the features make of the joined text, up to rounding, if both texts have a word that
occurs once, of each kind (words, pieces), as nearly every short text has. Where every word of a kind occurs
more often, as in "knock knock", the counts of that text and kind are taken as if its least frequent word
occurred once. Both are tested. The features must weigh a word by (1 + ln count) idf and scale each kind to a
fixed length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailwright.encoders.bags import Bags
from tailwright.encoders.subwords import SubwordTfIdf
from tailwright.kernels.tfidf import join_bags


@dataclass(frozen=True, eq=False)
class BagJoiner:
    """The bags of rows and of the texts that can be appended to them, and what their weights were made of."""

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
        """The bags at `rows` (batch,), each joined with the text at `appended` (batch,), -1 for none."""
        if not (appended >= 0).any():
            return self.rows.take(rows)
        rows = np.asarray(rows, dtype=np.int64)
        return Bags(*join_bags(*self.rows.arrays, rows, *self.others.arrays, appended, self.idf, self.kinds))
