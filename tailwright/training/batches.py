"""Batches: the rows of a step with their targets, and the batch door that lies between drawing and learning.

What is drawn depends on the seed, the phase, the epoch and the place of the batch, never on what was drawn
before. Augmentations at the batch door (`BatchMix`) get the `DrawnBatch` in turn and give another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tailwright.data.batch_targets import BatchTargets, TargetRows
from tailwright.data.dataset import Dataset
from tailwright.streams import stream


@dataclass(frozen=True, eq=False)
class DrawnBatch:
    """Rows drawn for a step."""

    rows: np.ndarray  # (batch,) places in the training data
    targets: BatchTargets
    appended: np.ndarray  # (batch,) int32: the label whose text stands behind the row's text, -1 for none


class BatchMix(Protocol):
    """What a batch-door augmentation does to a drawn batch, in place of which it gives a new one.

    It draws from `random` alone, which is the batch's own: the same batch of a resumed run draws the same.
    """

    def __call__(self, batch: DrawnBatch, random: np.random.Generator) -> DrawnBatch: ...


class BatchDrawer:
    """Draws the batches of a dataset, changed by `mixes` in turn."""

    def __init__(self, data: Dataset, mixes: Sequence[BatchMix] = ()) -> None:
        self.targets = TargetRows(data)
        self.mixes = tuple(mixes)

    def __call__(self, rows: np.ndarray, random: np.random.Generator) -> DrawnBatch:
        """The batch of these rows, after the mixes."""
        batch = DrawnBatch(rows, self.targets(rows), np.full(len(rows), -1, dtype=np.int32))
        for mix in self.mixes:
            batch = mix(batch, random)
        return batch


def epoch_order(rows: int, seed: int, phase: str, epoch: int) -> np.ndarray:
    """The rows in the order in which this epoch of this phase goes through them."""
    return stream(seed, f"{phase}/order", epoch).permutation(rows)


def batch_stream(seed: int, phase: str, step: int, begin: int = 0) -> np.random.Generator:
    """What the batch at that step of the phase draws from, or the piece of it that begins at that row."""
    return stream(seed, f"{phase}/batch/{begin}" if begin else f"{phase}/batch", step)
