"""Batches that share their labels: the rows of a batch, and one block of labels that all are scored against.

The block is the union of the batch's positives, of hard negatives and of labels drawn at random, so the
scores of a batch are one matrix product and nothing is as large as rows x labels. What is drawn depends on
the seed, the phase, the epoch and the place of the batch, never on what was drawn before.

Between the drawing of rows and the making of the block lies the batch door: augmentations that enter there
(`BatchMix`) get the `DrawnBatch` in turn and give another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from tailwright.data.dataset import Dataset
from tailwright.data.pairs import csr_parts
from tailwright.kernels.bags import gather_rows, number_locally
from tailwright.streams import stream
from tailwright.training.losses import BlockPairs


@dataclass(frozen=True, eq=False)
class DrawnBatch:
    """Rows drawn for a step, before the label block is made."""

    rows: np.ndarray  # (batch,) places in the training data
    ends: np.ndarray  # (batch + 1,) int64: where each row's labels start
    labels: np.ndarray  # (pairs,) int32, ascending within a row
    values: np.ndarray  # (pairs,) float32 soft targets
    appended: np.ndarray  # (batch,) int32: the label whose text stands behind the row's text, -1 for none


class BatchMix(Protocol):
    """What a batch-door augmentation does to a drawn batch, in place of which it gives a new one.

    It draws from `random` alone, which is the batch's own: the same batch of a resumed run draws the same.
    """

    def __call__(self, batch: DrawnBatch, random: np.random.Generator) -> DrawnBatch: ...


@dataclass(frozen=True, eq=False)
class BlockBatch:
    """What a loss needs to know of a batch."""

    rows: np.ndarray  # (batch,) of the training data
    labels: np.ndarray  # (block,) int32, sorted
    positives: BlockPairs
    ignored: BlockPairs
    weights: torch.Tensor  # (batch,) float32
    appended: np.ndarray  # (batch,) int32: the label whose text stands behind the row's text, -1 for none


class BlockMaker:
    """Makes the batches of a dataset, changed by `mixes`, with `sampled` labels drawn at random for each."""

    def __init__(self, data: Dataset, sampled: int, mixes: Sequence[BatchMix] = ()) -> None:
        if sampled < 0:
            raise ValueError(f"sampled must be >= 0, got {sampled}")
        self.labels = data.labels
        self.sampled = min(sampled, data.labels)
        self.mixes = tuple(mixes)
        self.weights = data.weights
        self._targets = csr_parts(data.targets)
        self._ignored = csr_parts(data.ignored)
        self._scratch = np.full(data.labels, -1, dtype=np.int32)

    def log_chances(self, batch: int) -> np.ndarray:
        """(labels,) float32: the logarithm of each label's chance to be in the block of a batch.

        It comes in as a positive of one of the batch's rows, or by being drawn; hard negatives do not count,
        nor do positives that a mix adds.
        """
        rows, labels = max(len(self.weights), 1), max(self.labels, 1)
        carried = np.bincount(self._targets[1], minlength=self.labels) / rows
        missed = (1 - carried) ** min(batch, rows) * (1 - 1 / labels) ** self.sampled
        return np.log(np.maximum(1 - missed, 1 / labels)).astype(np.float32)

    def draw(self, rows: np.ndarray, random: np.random.Generator) -> DrawnBatch:
        """These rows with their targets, after the mixes; for models that make label lists of their own."""
        batch = DrawnBatch(rows, *gather_rows(*self._targets, rows), np.full(len(rows), -1, dtype=np.int32))
        for mix in self.mixes:
            batch = mix(batch, random)
        return batch

    def make(
        self, rows: np.ndarray, random: np.random.Generator, hard: np.ndarray | None = None
    ) -> BlockBatch:
        """The batch of these rows; `hard` are label ids that must be in the block, -1 for none."""
        batch = self.draw(rows, random)
        targets = batch.labels
        ignored_ends, ignored, _ = gather_rows(*self._ignored, rows)
        drawn = random.integers(0, max(self.labels, 1), self.sampled, dtype=np.int32)
        more = np.empty(0, np.int32) if hard is None else hard[hard >= 0].astype(np.int32)
        block, places = number_locally(np.concatenate([targets, drawn, more]), self._scratch)
        # An ignored pair matters only if its label is in the block.
        found = np.searchsorted(block, ignored)
        inside = found < len(block)
        inside[inside] = block[found[inside]] == ignored[inside]
        return BlockBatch(
            rows,
            block,
            BlockPairs.of(_row_of(batch.ends), places[: len(targets)], batch.values),
            BlockPairs.of(_row_of(ignored_ends)[inside], found[inside], np.ones(int(inside.sum()))),
            torch.from_numpy(self.weights[rows]),
            batch.appended,
        )


def epoch_order(rows: int, seed: int, phase: str, epoch: int) -> np.ndarray:
    """The rows in the order in which this epoch of this phase goes through them."""
    return stream(seed, f"{phase}/order", epoch).permutation(rows)


def batch_stream(seed: int, phase: str, step: int, begin: int = 0) -> np.random.Generator:
    """What the batch at that step of the phase draws from, or the piece of it that begins at that row."""
    return stream(seed, f"{phase}/batch/{begin}" if begin else f"{phase}/batch", step)


def _row_of(ends: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(ends) - 1), np.diff(ends))
