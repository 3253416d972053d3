"""hiddenMix: manifold mixup (Verma et al. 2019), at a layer that each batch draws.

The layers are the points that a model names: embeddings, encoder layers, the encoder's output, the context
vectors of label attention, the first hidden layer of a shared head. The code of the TailMix authors always
takes the encoder's output, which is `layers="output"`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailwright.augmentation import AugmenterCard, HiddenAugmenter, augmenters
from tailwright.augmentation.shared.mixup import MixupSettings, RowMixup, any_row
from tailwright.data.corpus import Corpus
from tailwright.settings import setting


@dataclass(frozen=True)
class HiddenMixSettings(MixupSettings):
    """Where and how rows are mixed."""

    layers: Literal["any", "output"] = setting(
        "any", "any: each batch draws one of the model's points; output: the encoder's output"
    )


@augmenters.register
class ManifoldMix(HiddenAugmenter):
    """Mixes the activations of the rows of a batch."""

    card = AugmenterCard(
        name="hiddenmix",
        summary="mixes the activations of two texts at a layer drawn at random, and their targets",
        door="hidden",
        keeps_targets=False,
        paper="Manifold Mixup: Better Representations by Interpolating Hidden States",
        mix_points=("embeddings", "layers", "output", "contexts", "hidden"),
    )
    Settings = HiddenMixSettings

    def prepare(self, corpus: Corpus, *, points: tuple[str, ...], seed: int = 0) -> RowMixup:
        if self.settings.layers == "output":
            points = ("output",)
        return RowMixup(self.settings, points, any_row)
