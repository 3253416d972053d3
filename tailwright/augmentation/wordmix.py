"""wordMix (Guo et al. 2019): the word embeddings of two texts are mixed position by position.

The shorter text is padded with zeros. A batch draws one share and a permutation of its rows, as the code of
the TailMix authors does; the paper of wordMix has alpha = 1. For a transformer, embeddings are what its
embedding layer gives, positions included.
"""

from __future__ import annotations

from tailwright.augmentation import AugmenterCard, HiddenAugmenter, augmenters
from tailwright.augmentation.shared.mixup import MixupSettings, RowMixup, any_row
from tailwright.data.corpus import Corpus


@augmenters.register
class WordMix(HiddenAugmenter):
    """Mixes the embeddings of the rows of a batch."""

    card = AugmenterCard(
        name="wordmix",
        summary="mixes the word embeddings of two texts, and their targets",
        door="hidden",
        keeps_targets=False,
        paper="Augmenting Data with Mixup for Sentence Classification: An Empirical Study",
        mix_points=("embeddings",),
    )
    Settings = MixupSettings

    def prepare(self, corpus: Corpus, *, points: tuple[str, ...], seed: int = 0) -> RowMixup:
        return RowMixup(self.settings, points, any_row)
