"""Gandalf: every label's own text becomes a training row, annotated with the label and its companions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tailwright.augmentation import AugmenterCard, RowAugmenter, RowSettings, augmenters
from tailwright.augmentation.shared.label_rows import label_rows
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.labels.correlation import GraphSettings
from tailwright.labels.shared import Normalisation, annotations_of
from tailwright.settings import setting


@dataclass(frozen=True)
class GandalfSettings(RowSettings):
    """The label graph, and how it becomes targets."""

    soft: bool = setting(True, "annotate a label's text with its companions too, not with the label alone")
    threshold: float = setting(0.1, "a companion is kept if its soft target is above this", least=0, below=1)
    binary: bool = setting(False, "a companion that is kept has target 1, as in code that binarises targets")
    normalisation: Normalisation = setting(
        "counts",
        "the graph before division by the diagonal: counts, or symmetric, which favours rare companions",
    )
    graph: GraphSettings = setting(GraphSettings(), "the label correlation graph")


@augmenters.register
class Gandalf(RowAugmenter):
    """New rows: one for each label that has a text, `origin.rows` being the label's column.

    | column | of the new row of label l |
    |---|---|
    | text | the text of l |
    | targets | 1 for l; for a companion m how often a walk from l meets m, over how often it meets l |

    The graph is made of original training rows alone, so neither test labels nor other augmentations enter.
    Without `soft` it is the paper's "w/o SA". The paper does not say whether the graph is normalised, nor
    whether targets stay soft: the defaults are counts and soft ones. The targets are over-confident where
    labels have few rows: `calibrated-gandalf` makes them probabilities.

    One process makes them, on a cluster too, as the graph is over all rows.
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
        return label_rows(corpus, "gandalf", self._annotations(corpus, seed))

    def _annotations(self, corpus: Corpus, seed: int) -> sparse.csr_array:
        s: GandalfSettings = self.settings
        if not s.soft:
            return sparse.eye_array(len(corpus.labels), dtype=np.float32, format="csr")
        annotations = annotations_of(
            corpus, s.graph, threshold=s.threshold, normalisation=s.normalisation, seed=seed
        )
        if s.binary:
            annotations.data[:] = 1
        return annotations
