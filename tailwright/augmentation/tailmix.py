"""TailMix (Han et al., under review at ICLR 2022): rare labels of a row are mixed at their context vectors.

Under label attention a row has a context vector for each label. In every batch, some labels of each row are
drawn, rare ones first. The context of such a target label is mixed with that of another label of the same
row: the one whose context is nearest, among the target's neighbours in the label proximity graph, which are
the labels that share a training row with it. With the share a, the target label then learns a and its partner
1 - a, instead of what they were.

| where the paper is silent | here |
|---|---|
| two targets with one partner | the later drawn decides what the partner learns |
| a target that is the partner of another | learns its own share |
| a partner that the row has as well | learns 1 - a all the same (`partners`) |
| soft targets | labels above `gold_above` are drawn; a and 1 - a are multiplied by their own target |
| ignored pairs | are neither target nor partner |
| a label without neighbours | is not mixed |

Contexts are compared and mixed as they are before any mixing. `variant="repository"` is what the authors'
public code does instead: targets drawn evenly, partners by inverse propensity, and each vector scaled by its
share, without a sum.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tailwright.augmentation import AugmenterCard, HiddenAugmenter, augmenters
from tailwright.data.corpus import Corpus
from tailwright.labels.frequency import PROPENSITY_PRESETS
from tailwright.labels.proximity import ProximityGraph, ProximitySettings, label_proximity_graph
from tailwright.settings import Settings, setting

if TYPE_CHECKING:
    from tailwright.augmentation.shared.label_mixing import LabelMixup

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TailMixSettings(Settings):
    """Which labels are mixed with which."""

    alpha: float = setting(0.4, "the target label's share is drawn from Beta(alpha, alpha)", above=0)
    share: Literal["larger", "drawn"] = setting(
        "larger", "the target gets the larger of the share and the rest, or the share as it is drawn"
    )
    clean: bool = setting(False, "a batch is learnt unmixed as well; its loss is the mean of both")
    start_epoch: int | None = setting(
        None, "epochs before mixing begins; none: as many as before `restart`, or half of all", least=0
    )
    most_targets: int = setting(6, "labels of a row that are mixed at most; the paper's M", least=0)
    gold_above: float = setting(
        0.5, "a row's label may be drawn if its target is above this", least=0, below=1
    )
    similarity: bool = setting(
        True, "the partner is the one with the nearest context vector; else it is drawn"
    )
    proximity: bool = setting(True, "a partner is a neighbour in the label proximity graph; else any label")
    partners: Literal["any", "gold-excluded", "gold-only"] = setting(
        "any", "whether a partner may, may not or must be a label of the row itself"
    )
    variant: Literal["paper", "repository"] = setting("paper", "whose method: the paper's, or its code's")
    graph: ProximitySettings = setting(ProximitySettings(), "the label proximity graph")


@augmenters.register
class TailMix(HiddenAugmenter):
    """Mixes context vectors of rare labels; the graph and the propensities are of original rows."""

    card = AugmenterCard(
        name="tailmix",
        summary="mixes the context vectors of a row's rare labels with those of near labels",
        door="hidden",
        keeps_targets=False,
        paper="TailMix: Overcoming the Label Sparsity for Extreme Multi-Label Classification",
        mix_points=("pairs",),
    )
    Settings = TailMixSettings
    probes = ({}, {"most_targets": 10})

    def prepare(self, corpus: Corpus, *, points: tuple[str, ...], seed: int = 0) -> LabelMixup:
        # Here, because it imports torch, and the card must be had without.
        from tailwright.augmentation.shared.label_mixing import LabelMixup

        settings: TailMixSettings = self.settings
        rows = corpus.train.originals()
        graph = None
        if settings.proximity:
            in_order = rows.targets[np.argsort(rows.origin.rows, kind="stable")]
            graph = label_proximity_graph(in_order, settings.graph, seed=seed)
            _tell(graph, settings.graph.most)
        inverse = PROPENSITY_PRESETS["default"].inverse(corpus.labels.counts, max(len(rows), 3))
        return LabelMixup(settings, graph, inverse)


def _tell(graph: ProximityGraph, most: int) -> None:
    """Log how many neighbours labels have, and how often the lists were cut."""
    lengths = np.diff(graph.starts)
    log.info(
        "tailmix: %.1f neighbours a label; %d of %d lists were cut to %d, which leaves out %d edges",
        lengths.mean() if len(lengths) else 0,
        int((graph.cut > 0).sum()),
        len(lengths),
        most,
        int(graph.cut.sum()),
    )
