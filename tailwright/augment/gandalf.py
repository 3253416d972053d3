"""Gandalf: every label's own text becomes a training row, annotated with the label and its companions."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from tailwright.augment import AugmenterCard, RowAugmenter, augmenters
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset, Origin
from tailwright.labels.annotations import soft_annotations
from tailwright.labels.correlation import GraphSettings, correlation_graph

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GandalfSettings(GraphSettings):
    """The graph's settings, and how it becomes targets.

    | setting | meaning |
    |---|---|
    | `soft` | annotate a label's text with its companions too; else with the label alone ("w/o SA") |
    | `threshold` | a companion is kept if its soft target is above this |
    """

    soft: bool = True
    threshold: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
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
    )
    Settings = GandalfSettings

    def new_rows(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Dataset:
        texts = corpus.labels.texts
        has_text = pc.not_equal(pc.utf8_trim_whitespace(texts), "")
        kept = np.flatnonzero(has_text.to_numpy(zero_copy_only=False))
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
        rows = corpus.train.originals()
        # A walk draws rows by their place: the order of the file makes it independent of the order here.
        in_order = rows.targets[np.argsort(rows.origin.rows, kind="stable")]
        graph = correlation_graph(in_order, s.steps, s.restart, s.top, s.head_cut, seed, s.method)
        return soft_annotations(graph, s.threshold)
