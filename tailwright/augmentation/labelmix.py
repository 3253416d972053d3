"""LabelMix: while a model trains, some rows of every batch get the text of one of their labels appended.

With probability `probability` a drawn row is mixed. One of its labels j is drawn, rare ones more often than
frequent ones; the text of j is appended to the row's text; and row j of the label graph A joins the row's
targets: y' = min(y + A[j] / A[j, j], 1), in which new entries up to the threshold are dropped. Each epoch
draws anew. The model joins the two texts in its own way, as it knows how it reads them.

Where the paper is silent: j is drawn by n^exponent within the row, n being the original rows of a label, and
the graph's rows are cut off at 1, as Gandalf's are. A soft positive of the row takes part in the sum and is
never dropped; if the graph adds nothing to it, it stays the same to the last bit. Without `soft` it is the
paper's "w/o SA".
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import sparse

from tailwright.augmentation import AugmenterCard, BatchAugmenter, augmenters
from tailwright.data.batch_targets import starts_of
from tailwright.data.corpus import Corpus
from tailwright.data.pairs import row_ids
from tailwright.labels.calibration import CalibrationSettings, calibrated_annotations
from tailwright.labels.correlation import GraphSettings
from tailwright.labels.shared import annotations_of
from tailwright.settings import Settings, setting

if TYPE_CHECKING:
    from tailwright.training.batches import DrawnBatch

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LabelMixSettings(Settings):
    """Which rows and labels are mixed, and how the label graph becomes targets."""

    probability: float = setting(0.4, "probability that a drawn row is mixed", above=0, most=1)
    exponent: float = setting(
        -0.5, "a label of the row is drawn by its number of original rows to this power; 0: evenly"
    )
    soft: bool = setting(True, "the drawn label's annotations join the targets; else they stay as they are")
    threshold: float = setting(0.1, "a target new to the row is kept if it is above this", least=0, below=1)
    calibration: Literal["none", "learnt", "shrink"] = setting(
        "none", "annotations: as the graph has them, or calibrated as those of calibrated-gandalf"
    )
    calibrating: CalibrationSettings = setting(CalibrationSettings(), "how annotations are calibrated")
    graph: GraphSettings = setting(GraphSettings(), "the label correlation graph")


@augmenters.register
class LabelMix(BatchAugmenter):
    """Every drawn row may be mixed, also one of another augmentation; statistics are of original rows.

    A label without a text is never drawn, nor is an ignored pair. A row without a label to draw stays as it
    is, and so does a row to which a label's text has been appended already.
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
        has_text = corpus.labels.has_text
        if not has_text.all():
            without = len(has_text) - int(has_text.sum())
            log.info("labelmix: %d of %d labels have no text and are never drawn", without, len(has_text))
        # A label that only augmented rows have counts as one with a single row.
        log_odds = s.exponent * np.log(np.maximum(corpus.labels.counts, 1))
        return Mix(
            np.where(has_text, log_odds, -np.inf),
            self._annotations(corpus, seed) if s.soft else None,
            s.probability,
            s.threshold,
        )

    def _annotations(self, corpus: Corpus, seed: int) -> sparse.csr_array:
        s: LabelMixSettings = self.settings
        if s.calibration == "none":
            return annotations_of(corpus, s.graph, threshold=0, seed=seed)
        return calibrated_annotations(corpus, s.graph, s.calibration, s.calibrating, threshold=0, seed=seed)


@dataclass(frozen=True, eq=False)
class Mix:
    """LabelMix prepared for the training rows of one corpus."""

    log_odds: np.ndarray  # (labels,) float64: of being drawn; -inf without a text
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
        """(batch,): the label at `point` (batch,), where the labels of a row divide [0, 1) by their odds.

        -1 for a row without a label that can be drawn.
        """
        drawn = np.full(len(batch.rows), -1, dtype=np.int64)
        targets = batch.targets
        filled = np.flatnonzero(np.diff(targets.starts))
        if not len(filled):
            return drawn
        log_odds = np.where(targets.is_learnt(), self.log_odds[targets.labels], -np.inf)  # (pairs,)
        # Relative to the best of the row, so that no row's odds vanish beside those of another.
        best = np.maximum.reduceat(log_odds, targets.starts[filled])
        best = np.where(np.isfinite(best), best, 0)
        odds = np.exp(log_odds - np.repeat(best, np.diff(targets.starts)[filled]))
        reach = np.concatenate([[0], np.cumsum(odds)])
        low, high = reach[targets.starts[filled]], reach[targets.starts[filled + 1]]
        # Rounding must not carry a point over to the next row.
        at = np.minimum(low + point[filled] * (high - low), np.nextafter(high, -np.inf))
        pairs = np.searchsorted(reach[1:], at, side="right")
        drawn[filled] = np.where(high > low, targets.labels[pairs], -1)
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
        starts, labels = starts_of(row, len(targets)), label.astype(np.int32)
        return replace(batch, targets=replace(targets, starts=starts, labels=labels, values=values[kept]))

    def _keys(self, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """One whole number a pair, ascending by row and then by label."""
        return rows.astype(np.int64) * len(self.log_odds) + labels
