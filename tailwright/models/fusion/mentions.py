"""Which candidates stand in the text word for word.

Long texts often name their labels: an article those that it points to, a report its library. Parts that weigh
single words cannot tell a text with "New York" from one with "York" and "new"; this can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from tailwright.data.corpus import LabelSpace
from tailwright.data.text.tfidf import with_inserted
from tailwright.data.text.words import Texts, WordTable, tokenise
from tailwright.errors import InputError
from tailwright.kernels.mentions import MENTION_FEATURES, mention_features
from tailwright.store import FolderReader, FolderWriter

# The features (pairs, 3) of candidates by their texts' numbers and their labels, both (pairs,).
MentionsOf: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Mentions:
    """The texts of labels as words; a label without a text of its own has none."""

    vocabulary: pa.LargeStringArray  # words of labels, sorted
    ids: np.ndarray  # (words of all labels,) int32
    offsets: np.ndarray  # (labels + 1,) int64

    @staticmethod
    def of_labels(labels: LabelSpace) -> Mentions:
        tokens = tokenise(labels.texts)
        return Mentions(tokens.vocabulary, tokens.ids, tokens.offsets)

    def with_more_labels(self, labels: LabelSpace) -> Mentions:
        """With these behind the others."""
        vocabulary, places = with_inserted(self.vocabulary, tokenise(labels.texts).vocabulary)
        behind = tokenise(labels.texts, WordTable(vocabulary))
        ids = np.concatenate([places[self.ids].astype(np.int32), behind.ids])
        return Mentions(
            vocabulary, ids, np.concatenate([self.offsets, self.offsets[-1] + behind.offsets[1:]])
        )

    @cached_property
    def table(self) -> WordTable:
        """The vocabulary, ready to be looked up."""
        return WordTable(self.vocabulary)

    def within(self, texts: Texts) -> MentionsOf:
        """What gives the features of candidates of these texts."""
        tokens = tokenise(texts, self.table)

        def features_of(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
            features = np.empty((len(rows), MENTION_FEATURES), dtype=np.float32)
            mention_features(rows, labels, tokens.ids, tokens.offsets, self.ids, self.offsets, features)
            return features

        return features_of

    def save(self, folder: FolderWriter) -> None:
        folder.strings("label_words", self.vocabulary)
        folder.array("label_word_ids", self.ids)
        folder.array("label_word_offsets", self.offsets)

    @staticmethod
    def load(folder: FolderReader, labels: int) -> Mentions:
        """What `save` wrote, checked."""
        vocabulary = folder.strings("label_words")
        ids = folder.array("label_word_ids", dtype=np.int32, shape=(None,))
        offsets = folder.array("label_word_offsets", dtype=np.int64, shape=(labels + 1,))
        inside = not len(ids) or (ids.min() >= 0 and ids.max() < len(vocabulary))
        rising = offsets[0] == 0 and offsets[-1] == len(ids) and bool((np.diff(offsets) >= 0).all())
        if not (inside and rising):
            raise InputError("found words outside their table", expected="words of labels", path=folder.path)
        mentions = Mentions(vocabulary, ids, offsets)
        try:
            _ = mentions.table
        except ValueError as error:
            raise InputError(str(error), expected="different words of labels", path=folder.path) from error
        return mentions


def no_mentions(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Where no label stands in a text."""
    return np.zeros((len(rows), MENTION_FEATURES), dtype=np.float32)


def mentions_from(mentions_of: MentionsOf, start: int, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The mentions of texts that are numbered from `start` on."""
    return mentions_of(rows + start, labels)
