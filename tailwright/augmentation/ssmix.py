"""SSMix (Yoon et al. 2021): the least salient words of a text make room for the most salient of another.

The saliency of a token is the size of the gradient of the loss with respect to its embedding. In each text
the window of tokens with the least saliency is replaced by the window of its partner with the most; the
targets are mixed by how many tokens are kept. The first half of a batch is mixed with the second and the
other way round, and both are learnt unmixed as well. It costs one more forward and backward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tailwright.augmentation import AugmenterCard, HiddenAugmenter, augmenters
from tailwright.augmentation.shared.mixup import interpolated, other_half
from tailwright.data.batch_targets import BatchTargets
from tailwright.data.corpus import Corpus
from tailwright.data.text.sequences import TokenBatch
from tailwright.settings import Settings, setting

if TYPE_CHECKING:
    from tailwright.encoders.mixing import Mixing


@dataclass(frozen=True)
class SsMixSettings(Settings):
    """How much of a text is replaced."""

    window: float = setting(0.1, "share of a text's tokens that are replaced", above=0, below=1)
    clean: bool = setting(True, "a batch is learnt unmixed as well; its loss is the mean of both")
    start_epoch: int | None = setting(
        0, "epochs before mixing begins; none: as many as before `restart`, or half of all", least=0
    )


@augmenters.register
class SsMix(HiddenAugmenter):
    """Replaces tokens in the rows of a batch."""

    card = AugmenterCard(
        name="ssmix",
        summary="replaces a text's least salient words by the most salient of another, and mixes targets",
        door="batch",
        keeps_targets=False,
        paper="SSMix: Saliency-Based Span Mixup for Text Classification",
        mix_points=("tokens",),
    )
    Settings = SsMixSettings

    def prepare(self, corpus: Corpus, *, points: tuple[str, ...], seed: int = 0) -> SpanMixup:
        return SpanMixup(self.settings)


@dataclass(frozen=True, eq=False)
class SpanMixup:
    """SSMix with its settings."""

    settings: SsMixSettings

    def __call__(
        self, targets: BatchTargets, *, epoch: int, random: np.random.Generator
    ) -> Sequence[Mixing | None]:
        mixing = SpanMixing(targets, other_half(len(targets), random), self.settings.window)
        return [None, mixing] if self.settings.clean else [mixing]


@dataclass(frozen=True, eq=False)
class SpanMixing:
    """The mixing of one batch."""

    targets: BatchTargets  # before the mixing
    partners: np.ndarray  # (rows,) int64
    window: float
    point = "tokens"

    def replaced_tokens(
        self, tokens: TokenBatch, specials: int, saliency: Callable[[], np.ndarray]
    ) -> tuple[TokenBatch, BatchTargets]:
        """The batch with replaced ids, and what its rows learn."""
        side, rows = specials // 2, np.arange(len(tokens))
        inner = tokens.lengths - specials  # (rows,)
        sizes = np.maximum((self.window * inner).astype(np.int64), 1)
        able = (inner >= sizes) & (inner[self.partners] >= sizes) & (self.partners != rows)
        if not able.any():
            return tokens, self.targets
        salient = saliency()  # (rows, tokens)
        out, _ = windows(salient, tokens.lengths, sizes, side)
        _, into = windows(salient[self.partners], tokens.lengths[self.partners], sizes, side)
        place = np.arange(tokens.ids.shape[1])
        replaced = able[:, None] & (place >= out[:, None]) & (place < (out + sizes)[:, None])
        source = np.clip(place - out[:, None] + into[:, None], 0, tokens.ids.shape[1] - 1)
        others = np.take_along_axis(tokens.ids[self.partners], source, axis=1)
        kept = np.where(able, 1 - sizes / np.maximum(inner, 1), 1.0)
        mixed = replace(tokens, ids=np.where(replaced, others, tokens.ids))
        return mixed, interpolated(self.targets, self.partners, kept)


def windows(
    saliency: np.ndarray, lengths: np.ndarray, sizes: np.ndarray, side: int
) -> tuple[np.ndarray, np.ndarray]:
    """Where each row's window of `sizes` (rows,) tokens with the least and with the most saliency starts.

    `side` tokens at either end of a row, which are special ones, are in no window.

    >>> windows(np.array([[9.0, 3, 1, 2, 9]]), np.array([5]), np.array([2]), side=1)
    (array([2]), array([1]))
    """
    sums = np.concatenate([np.zeros((len(saliency), 1)), np.cumsum(saliency, axis=1, dtype=np.float64)], 1)
    starts = np.arange(saliency.shape[1])
    ends = np.minimum(starts + sizes[:, None], saliency.shape[1])
    inside = np.take_along_axis(sums, ends, axis=1) - sums[:, :-1]
    whole = (starts >= side) & (starts + sizes[:, None] <= (lengths - side)[:, None])
    least = np.where(whole, inside, np.inf).argmin(axis=1)
    return least, np.where(whole, inside, -np.inf).argmax(axis=1)
