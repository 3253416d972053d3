"""Popularity: the most frequent training labels, for every text. The floor that any model must clear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tailwright.data.corpus import Corpus
from tailwright.evaluation.ranking import TopK
from tailwright.models import LaterRows, Model, ModelCard, models
from tailwright.store import FolderReader, FolderWriter
from tailwright.training.memory import MemoryNeed
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
        self._announce_memory(corpus, work)
        self.frequencies = corpus.train.weighted_counts()

    def _announce_memory(self, corpus: Corpus, work: Workplace) -> None:
        """A copy of the targets to be weighed, and a float64 a label."""
        targets = corpus.train.targets
        items = {"targets": targets.data.nbytes + targets.indices.nbytes, "labels": 8 * len(corpus.labels)}
        MemoryNeed(items).announce(work, "fewer rows need less")

    def learn_more(self, before: Model, later: LaterRows, *, seed: int, work: Workplace) -> None:
        assert isinstance(before, Popularity)
        self._announce_memory(later.corpus, work)
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
