"""Calibrated Gandalf: label texts as rows, each companion with the probability that it is true of the text.

Gandalf takes the ratios of the label graph for targets, which are over-confident where labels have few rows.
Here they are calibrated (`tailwright.labels.calibration`): on rows that the graph has not seen, or by a
closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

from tailwright.augmentation import AugmenterCard, RowAugmenter, RowSettings, augmenters
from tailwright.augmentation.shared.label_rows import label_rows
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.labels.calibration import Calibration, CalibrationSettings, calibrated_annotations
from tailwright.labels.correlation import GraphSettings
from tailwright.settings import setting


@dataclass(frozen=True)
class CalibratedGandalfSettings(RowSettings):
    """The label graph, and how it becomes probabilities."""

    calibration: Calibration = setting("learnt", "learnt on held-out rows, or shrink, a closed form")
    threshold: float = setting(0.1, "a companion is kept if its target is above this", least=0, below=1)
    calibrating: CalibrationSettings = setting(CalibrationSettings(), "how targets are calibrated")
    graph: GraphSettings = setting(GraphSettings(), "the label correlation graph")


@augmenters.register
class CalibratedGandalf(RowAugmenter):
    """New rows: one for each label that has a text, `origin.rows` being the label's column.

    | column | of the new row of label l |
    |---|---|
    | text | the text of l |
    | targets | 1 for l; for a companion m the probability that a text which stands for l has m |

    Everything is learnt from original training rows alone, by the seed.
    """

    card = AugmenterCard(
        name="calibrated-gandalf",
        summary="label texts as training rows, annotated with calibrated probabilities of their companions",
        door="rows",
        keeps_targets=False,
        paper="after Gandalf: Data Augmentation is all you need for Extreme Classification",
        needs=("label texts",),
    )
    Settings = CalibratedGandalfSettings
    probes = ({}, {"weight": 0.5})

    def new_rows(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Dataset:
        s: CalibratedGandalfSettings = self.settings
        annotations = calibrated_annotations(
            corpus, s.graph, s.calibration, s.calibrating, threshold=s.threshold, seed=seed
        )
        return label_rows(corpus, self.card.name, annotations)
