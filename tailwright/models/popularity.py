"""Popularity: the most frequent training labels, for every text. The floor that any model must clear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tailwright.data.corpus import Corpus
from tailwright.evaluation.ranking import TopK
from tailwright.models import LaterRows, Model, ModelCard, models
from tailwright.store import FolderReader, FolderWriter
from tailwright.training.workplace import Workplace


@models.register
class Popularity(Model):
    """Scores a label by its weighted soft frequency in training, ignored pairs left out."""

    card = ModelCard(
        name="popularity",
        summary="the most frequent labels, whatever the text: the floor",
        reads=("targets",),
        scores="rank",
        continues="new rows",
    )

    frequencies: np.ndarray  # (labels,) float64

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        self.frequencies = corpus.train.weighted_counts()

    def learn_more(self, before: Model, later: LaterRows, *, seed: int, work: Workplace) -> None:
        assert isinstance(before, Popularity)
        self.frequencies = later.new().train.weighted_counts()
        self.frequencies[: len(before.frequencies)] += before.frequencies

    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        order = np.lexsort((np.arange(len(self.frequencies)), -self.frequencies))[:k]
        ids = np.full(k, -1, dtype=np.int32)
        ids[: len(order)] = order
        scores = np.full(k, -np.inf, dtype=np.float32)
        scores[: len(order)] = self.frequencies[order]
        shape = (len(texts), k)
        return TopK(np.broadcast_to(ids, shape).copy(), np.broadcast_to(scores, shape).copy())

    def save(self, folder: FolderWriter) -> None:
        folder.array("frequencies", self.frequencies)

    def load(self, folder: FolderReader, labels: int) -> None:
        self.frequencies = folder.array("frequencies", dtype=np.float64, shape=(labels,))
