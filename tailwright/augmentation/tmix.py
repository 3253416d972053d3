"""TMix (Chen et al. 2020, MixText): the hidden states of two texts are mixed after one of the upper layers.

A batch draws one of the layers 7, 9 and 12 of a transformer of twelve, and the corresponding ones of another
depth. Its first half is mixed with its second and the other way round, with one share; the two halves are
learnt unmixed as well, so the loss is the mean of four. MixText has alpha = 16 for few labelled rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from tailwright.augmentation import AugmenterCard, HiddenAugmenter, augmenters
from tailwright.augmentation.shared.mixup import MixupSettings, RowMixup, other_half
from tailwright.data.corpus import Corpus
from tailwright.errors import InputError
from tailwright.settings import setting

LAYERS_OF_TWELVE = (7, 9, 12)


@dataclass(frozen=True)
class TMixSettings(MixupSettings):
    """Where and how rows are mixed."""

    layers: tuple[int, ...] = setting(
        (),
        "layers that a batch draws one of, from 1; empty: 7, 9, 12 of twelve, or their share",
        least=1,
        most=256,
    )


@augmenters.register
class TMix(HiddenAugmenter):
    """Mixes the hidden states of the rows of a batch."""

    card = AugmenterCard(
        name="tmix",
        summary="mixes the hidden states of two texts in an upper layer of a transformer, and their targets",
        door="hidden",
        keeps_targets=False,
        paper="MixText: Linguistically-Informed Interpolation for Semi-Supervised Text Classification",
        mix_points=("layers",),
    )
    Settings = TMixSettings

    def prepare(self, corpus: Corpus, *, points: tuple[str, ...], seed: int = 0) -> RowMixup:
        depth = len(points)
        layers = self.settings.layers or layers_of(depth)
        if max(layers) > depth:
            raise InputError(
                f"tmix.layers has {max(layers)}", expected=f"at most {depth}, the encoder's layers"
            )
        return RowMixup(self.settings, tuple(f"layer-{layer}" for layer in layers), other_half)


def layers_of(depth: int) -> tuple[int, ...]:
    """Where layers 7, 9 and 12 of twelve are in an encoder of another depth.

    >>> layers_of(12), layers_of(24), layers_of(6)
    ((7, 9, 12), (14, 18, 24), (4, 5, 6))
    """
    return tuple(sorted({-(-layer * depth // 12) for layer in LAYERS_OF_TWELVE}))
