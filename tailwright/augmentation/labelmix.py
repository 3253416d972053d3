"""LabelMix: while a model trains, some rows of every batch get the text of one of their labels appended.

With probability `probability` a drawn row is mixed. One of its labels j is drawn, rare ones more often than
frequent ones; the text of j is put behind the row's text; and what the label graph says of j joins the row's
targets: y' = min(y + A[j] / A[j, j], 1), of which new entries up to the threshold are dropped. Each epoch
draws anew. The model says how two texts are joined, as it knows how it reads them.

Where the paper is silent: j is drawn by n^exponent within the row, n being the original rows of a label, and
the graph's rows are cut off at 1, as Gandalf's. A positive of the row that is soft takes part in the sum and
is never dropped; where the graph adds nothing to it, it stays as it was to the last bit.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from tailwright.augmentation import AugmenterCard, BatchAugmenter, augmenters
from tailwright.augmentation.shared.annotations import annotations_of
from tailwright.data.batch_targets import starts_of
from tailwright.data.corpus import Corpus
from tailwright.data.pairs import row_ids
from tailwright.labels.correlation import GraphSettings

if TYPE_CHECKING:
    from tailwright.training.batches import DrawnBatch

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LabelMixSettings(GraphSettings):
    """The graph's settings, which rows and labels are mixed, and how the graph becomes targets.

    | setting | meaning |
    |---|---|
    | `probability` | that a drawn row is mixed |
    | `exponent` | a label of the row is drawn by its original rows to this power; 0: all alike |
    | `soft` | what the graph says of the drawn label joins the targets; else they stay ("w/o SA") |
    | `threshold` | a target that is new to the row is kept if it is above this |
    """

    probability: float = 0.4
    exponent: float = -0.5
    soft: bool = True
    threshold: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.probability <= 1:
            raise ValueError(f"probability must be in (0, 1], got {self.probability}")
        if not np.isfinite(self.exponent):
            raise ValueError(f"exponent must be a finite number, got {self.exponent}")
        if not 0 <= self.threshold < 1:
            raise ValueError(f"threshold must be in [0, 1), got {self.threshold}")


@augmenters.register
class LabelMix(BatchAugmenter):
    """Every row that is drawn may be mixed, rows of other augmentations too; statistics are of original rows.

    A label without a text is never drawn, nor is a pair that gives no loss; a row with nothing to draw from
    stays as it is. A row behind whose text a label's text stands already stays too.
    """

    card = AugmenterCard(
        name="labelmix",
        summary="appends the text of one of a row's labels to it, and joins that label's soft annotations",
        door="batch",
        keeps_targets=False,
        paper="Gandalf: Data Augmentation is all you need for Extreme Classification",
        needs=("label texts",),
    )
    Settings = LabelMixSettings
    probes = ({}, {"soft": False})

    def prepare(self, corpus: Corpus, *, seed: int = 0) -> Mix:
        s: LabelMixSettings = self.settings
        readable = corpus.labels.has_text
        if not readable.all():
            bare = len(readable) - int(readable.sum())
            log.info("labelmix: %d of %d labels have no text and are never drawn", bare, len(readable))
        # A label of augmented rows alone is as rare as one with a single row.
        log_odds = s.exponent * np.log(np.maximum(corpus.labels.counts, 1))
        annotations = annotations_of(corpus, s, threshold=0, seed=seed) if s.soft else None
        return Mix(
            np.where(readable, log_odds, -np.inf),
            annotations,
            s.probability,
            s.threshold,
        )


@dataclass(frozen=True, eq=False)
class Mix:
    """LabelMix made ready for the training rows of one corpus."""

    log_odds: np.ndarray  # (labels,) float64: of being drawn; -inf for a label without text
    annotations: sparse.csr_array | None  # (labels, labels) float32, or None: targets stay
    probability: float
    threshold: float

    def __call__(self, batch: DrawnBatch, random: np.random.Generator) -> DrawnBatch:
        gate, point = random.random((2, len(batch.rows)))
        mixed = (gate < self.probability) & (batch.appended < 0)
        drawn = np.where(mixed, self._drawn(batch, point), -1)
        appended = np.where(drawn >= 0, drawn, batch.appended).astype(np.int32)
        return self._annotated(replace(batch, appended=appended), drawn)

    def _drawn(self, batch: DrawnBatch, point: np.ndarray) -> np.ndarray:
        """(batch,): the label at `point` (batch,) of [0, 1) where a row's labels share it by their odds.

        -1 for a row without a label that can be drawn.
        """
        drawn = np.full(len(batch.rows), -1, dtype=np.int64)
        targets = batch.targets
        filled = np.flatnonzero(np.diff(targets.starts))
        if not len(filled):
            return drawn
        log_odds = np.where(targets.is_learnt(), self.log_odds[targets.labels], -np.inf)  # (pairs,)
        # Against the best of their row, so that no row's odds vanish beside those of another.
        best = np.maximum.reduceat(log_odds, targets.starts[filled])
        best = np.where(np.isfinite(best), best, 0)
        odds = np.exp(log_odds - np.repeat(best, np.diff(targets.starts)[filled]))
        reach = np.concatenate([[0], np.cumsum(odds)])
        low, high = reach[targets.starts[filled]], reach[targets.starts[filled + 1]]
        # Rounding must not carry a point over to the next row.
        at = np.minimum(low + point[filled] * (high - low), np.nextafter(high, -np.inf))
        found = np.searchsorted(reach[1:], at, side="right")
        drawn[filled] = np.where(high > low, targets.labels[found], -1)
        return drawn

    def _annotated(self, batch: DrawnBatch, drawn: np.ndarray) -> DrawnBatch:
        """The batch with the annotations of each row's drawn label added to its targets."""
        rows = np.flatnonzero(drawn >= 0)
        if self.annotations is None or not len(rows):
            return batch
        added, targets = self.annotations[drawn[rows]], batch.targets
        keys = np.concatenate(
            [self._keys(targets.rows, targets.labels), self._keys(rows[row_ids(added)], added.indices)]
        )
        pairs, place = np.unique(keys, return_inverse=True)
        sums = np.bincount(place, np.concatenate([targets.values, added.data]))
        values = np.minimum(sums, 1).astype(np.float32)
        kept = values > np.float32(self.threshold)
        kept[place[: len(targets.labels)]] = True
        row, label = np.divmod(pairs[kept], len(self.log_odds))
        mixed = replace(
            targets,
            starts=starts_of(row, len(targets)),
            labels=label.astype(np.int32),
            values=values[kept],
        )
        return replace(batch, targets=mixed)

    def _keys(self, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """One whole number a pair, ascending by row and then by label."""
        return rows.astype(np.int64) * len(self.log_odds) + labels
