"""How twin learns: one phase of decoupled softmax over the labels that a batch shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tailwright.data.batch_targets import BatchTargets, TargetRows
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.encoders.joined_bags import BagJoiner
from tailwright.kernels.csr import number_locally
from tailwright.models.twin import TwinSettings
from tailwright.models.twin.network import TwinNetwork
from tailwright.training.array_network import ArrayLoss
from tailwright.training.batches import BatchDrawer, BatchMix
from tailwright.training.memory import MemoryNeed
from tailwright.training.named_arrays import Arrays
from tailwright.training.phases import Phase, Plan
from tailwright.training.schedules import Schedule
from tailwright.training.watch import Watch

FLOAT = 4  # bytes
# What rates are multiplied by for rows that come later. After 80 % of the rows, at width 128, the rest change
# P@1 and PSP@5 by +0.4 and +0.2 points on cooking-se with this, by -1.2 and -0.4 with 1; on a fifth of
# winapi-seealso by +0.8 and +0.9 with this, by +1.6 and +1.2 with 1.
LATER = 0.3


class SampledNegatives:
    """The labels that all rows of a batch are scored against: its positives, and `count` drawn at random."""

    def __init__(self, targets: TargetRows, count: int) -> None:
        self.targets, self.count = targets, min(count, targets.labels)
        self._scratch = np.full(targets.labels, -1, dtype=np.int32)

    def beside(self, targets: BatchTargets, random: np.random.Generator) -> np.ndarray:
        """(labels of the batch,) int32, ascending."""
        drawn = random.integers(0, max(self.targets.labels, 1), self.count, dtype=np.int32)
        labels: np.ndarray = number_locally(np.concatenate([targets.labels, drawn]), self._scratch)[0]
        return labels

    def log_inclusion_probabilities(self, batch: int) -> np.ndarray:
        """(labels,) float32: the logarithm of the probability that a label is among those of a batch.

        It is there as a positive of a row or by being drawn; positives that a mix adds do not count.
        """
        rows, labels = max(len(self.targets), 1), max(self.targets.labels, 1)
        carried = self.targets.counts() / rows
        missed = (1 - carried) ** min(batch, rows) * (1 - 1 / labels) ** self.count
        return np.log(np.maximum(1 - missed, 1 / labels)).astype(np.float32)


class TwinPhase(Phase):
    """Each positive of a row against the labels that its batch shares."""

    def __init__(
        self,
        network: TwinNetwork,
        texts: BagJoiner,
        data: Dataset,
        settings: TwinSettings,
        *,
        mixes: Sequence[BatchMix],
        validate: Callable[[], float] | None,
        watch: Watch,
    ) -> None:
        super().__init__("twin", len(data), _plan(settings), validate=validate, watch=watch)
        self.network, self.texts = network, texts
        self.draw = BatchDrawer(data, mixes)
        self.negatives = SampledNegatives(self.draw.targets, settings.negatives)
        log_probabilities = self.negatives.log_inclusion_probabilities(settings.batch)
        self.discount = np.float32(settings.correction) * log_probabilities

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> ArrayLoss:
        batch = self.draw(rows, random)
        labels = self.negatives.beside(batch.targets, random)
        texts, targets = self.texts.take(rows, batch.appended), batch.targets.among(labels)
        return self.network.loss(texts, labels, targets, self.discount[labels])


def later_settings(settings: TwinSettings) -> TwinSettings:
    """The settings for rows that come later: smaller rates, so that the rows before are not forgotten."""
    return replace(settings, rate=LATER * settings.rate, block_rate=LATER * settings.block_rate)


def _plan(settings: TwinSettings) -> Plan:
    rates = {
        "words": settings.rate,
        "free": settings.rate,
        "text_layer": settings.block_rate,
        "label_layer": settings.block_rate,
        "log_scale": 10 * settings.block_rate,
    }
    return Plan(
        settings.epochs,
        settings.batch,
        rates,
        Schedule(settings.schedule, settings.warmup),
        clip=settings.clip,
        patience=settings.patience,
    )


def memory_need(words: int, corpus: Corpus, bag_bytes: float, settings: TwinSettings) -> MemoryNeed:
    """What training adds to the process that holds the texts as words already, which take `bag_bytes`.

    A table has two moments of half its size (`RoundedRowAdam`).
    """
    train, labels = corpus.train, len(corpus.labels)
    batch = min(settings.batch, len(train))
    positives = int(batch * (train.targets.nnz / max(len(train), 1)))
    scored = min(labels, positives + settings.negatives)
    touched = min(words, int((batch + scored) * bag_bytes / 8 / max(len(train) + labels, 1)))
    width = settings.width * FLOAT
    return MemoryNeed(
        {
            "word vectors": 2 * words * width,
            "label vectors": 2 * labels * width,
            "the best weights so far": 0 if corpus.valid is None else (words + labels) * width,
            "a batch": batch * scored * FLOAT + (6 * scored + 6 * batch + touched) * width,
        }
    )
