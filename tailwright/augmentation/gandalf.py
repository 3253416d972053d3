"""Gandalf: every label's own text becomes a training row, annotated with the label and its companions."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.augmentation import AugmenterCard, RowAugmenter, RowSettings, augmenters
from tailwright.augmentation._label_side import annotations_of
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset, Origin
from tailwright.labels.correlation import GraphSettings

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GandalfSettings(RowSettings, GraphSettings):
    """The graph's settings, how it becomes targets, and what the new rows weigh.

    | setting | meaning |
    |---|---|
    | `soft` | annotate a label's text with its companions too; else with the label alone ("w/o SA") |
    | `threshold` | a companion is kept if its soft target is above this |
    """

    soft: bool = True
    threshold: float = 0.1

    def __post_init__(self) -> None:
        GraphSettings.__post_init__(self)
        RowSettings.__post_init__(self)
        if not 0 <= self.threshold < 1:
            raise ValueError(f"threshold must be in [0, 1), got {self.threshold}")


@augmenters.register
class Gandalf(RowAugmenter):
    """New rows: one for each label that has a text, `origin.rows` being the label's column.

    | column | of the new row of label l |
    |---|---|
    | text | the text of l |
    | targets | 1 for l; for a companion m how often a walk from l meets m, over how often it meets l |

    The graph is made of original training rows alone, so neither test labels nor other augmentations enter.
    """

    card = AugmenterCard(
        name="gandalf",
        summary="label texts as training rows, softly annotated from the label graph",
        door="rows",
        keeps_targets=False,
        paper="Gandalf: Data Augmentation is all you need for Extreme Classification",
        needs=("label texts",),
    )
    Settings = GandalfSettings
    probes = ({}, {"soft": False}, {"weight": 0.5}, {"soft": False, "weight": 0.5})

    def new_rows(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Dataset:
        texts = corpus.labels.texts
        kept = np.flatnonzero(corpus.labels.has_text)
        if len(kept) < len(texts):
            log.info(
                "gandalf: %d of %d labels have no text and give no row", len(texts) - len(kept), len(texts)
            )
        return Dataset(
            texts.take(pa.array(kept)),
            self._annotations(corpus, seed)[kept],
            origin=Origin.made_by("gandalf", kept),
        )

    def _annotations(self, corpus: Corpus, seed: int) -> sparse.csr_array:
        s: GandalfSettings = self.settings
        if not s.soft:
            return sparse.eye_array(len(corpus.labels), dtype=np.float32, format="csr")
        return annotations_of(corpus, s, threshold=s.threshold, seed=seed)
