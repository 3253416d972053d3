"""What the mixups of whole rows share: shares, partners, and targets mixed as the activations are.

The cross-entropy is linear in the target, so a mixed row that learns a y_a + (1 - a) y_b has the loss a times
that of y_a plus 1 - a times that of y_b. Rows with weights w_a and w_b mix to the weight a w_a + (1 - a) w_b,
and their targets by each row's share in it, which keeps that equation. Label weights make that share differ
from label to label. A pair that either row ignores gives no loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tailwright.data.batch_targets import BatchTargets, entries_of, starts_of
from tailwright.settings import Settings, setting

if TYPE_CHECKING:
    import torch

    from tailwright.encoders.mixing import Mixing


@dataclass(frozen=True)
class MixupSettings(Settings):
    """What can be set of every mixup of whole rows."""

    alpha: float = setting(0.2, "the share of the first is drawn from Beta(alpha, alpha)", above=0)
    share: Literal["larger", "drawn"] = setting(
        "larger", "the first gets the larger of the share and the rest, or the share as it is drawn"
    )
    clean: bool = setting(True, "a batch is learnt unmixed as well; its loss is the mean of both")
    start_epoch: int | None = setting(
        0, "epochs before mixing begins; none: as many as before `restart`, or half of all", least=0
    )
    mask: Literal["either", "first"] = setting(
        "either", "the tokens of a mixed row are those of either row, or of the first alone"
    )


def drawn_shares(settings: Any, random: np.random.Generator, shape: Sequence[int] = ()) -> np.ndarray:
    """Shares of the first, in [0, 1], by the settings `alpha` and `share`."""
    share = random.beta(settings.alpha, settings.alpha, tuple(shape))
    return np.asarray(np.maximum(share, 1 - share) if settings.share == "larger" else share)


@dataclass(frozen=True, eq=False)
class Interpolation:
    """The rows of one batch, each mixed with its partner."""

    point: str
    targets: BatchTargets
    partners: np.ndarray  # (rows,) int64: the row of the batch that each is mixed with
    share: float  # of the row itself
    mask: Literal["either", "first"] = "either"

    def activations(
        self, states: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        if self.share == 1:
            return states, mask
        if mask is not None and states.dim() == 3:
            states = states.masked_fill(~mask[..., None], 0)  # texts are padded with zeros
        mixed = states[self.partners].lerp(states, self.share)
        if mask is None or self.mask == "first":
            return mixed, mask
        return mixed, mask | mask[self.partners]


@dataclass(frozen=True, eq=False)
class RowMixup:
    """Mixes the rows of every batch at a point that `points` draws, with partners that `partners` draws."""

    settings: MixupSettings
    points: tuple[str, ...]
    partners: Callable[[int, np.random.Generator], np.ndarray]

    def __call__(
        self, targets: BatchTargets, *, epoch: int, random: np.random.Generator
    ) -> Sequence[Mixing | None]:
        point = self.points[int(random.integers(len(self.points)))]
        share, partners = float(drawn_shares(self.settings, random)), self.partners(len(targets), random)
        mixed = interpolated(targets, partners, np.full(len(targets), share))
        mixing = Interpolation(point, mixed, partners, share, self.settings.mask)
        return [None, mixing] if self.settings.clean else [mixing]


def any_row(rows: int, random: np.random.Generator) -> np.ndarray:
    """Partners: a permutation of the batch."""
    return random.permutation(rows)


def other_half(rows: int, random: np.random.Generator) -> np.ndarray:
    """Partners: a row of the first half has one of the second, and the other way round.

    The last of an odd number of rows has itself: nothing is mixed into it, and nothing is dropped.

    >>> other_half(5, np.random.default_rng(0)).tolist()
    [2, 3, 0, 1, 4]
    """
    half = rows // 2
    return np.concatenate([np.arange(half, 2 * half), np.arange(half), np.arange(2 * half, rows)])


def interpolated(targets: BatchTargets, partners: np.ndarray, shares: np.ndarray) -> BatchTargets:
    """The targets of each row mixed with its partner's; `shares` (rows,) are those of the row itself."""
    own, others = targets.weights.astype(np.float64), targets.weights[partners].astype(np.float64)
    weights = shares * own + (1 - shares) * others
    of_own = np.where(
        (own == others) | (weights == 0), shares, shares * own / np.where(weights > 0, weights, 1)
    )
    other = entries_of(targets.starts, partners)
    other_rows = np.repeat(np.arange(len(partners)), np.diff(targets.starts)[partners])
    rows = np.concatenate([targets.rows, other_rows])
    labels = np.concatenate([targets.labels, targets.labels[other]])
    part = of_own[rows]  # (pairs,): of the row itself
    made = targets.made
    if made is not None:
        of_first, of_second = shares * own, (1 - shares) * others
        factors = targets.label_factors(rows, labels), targets.label_factors(partners[rows], labels)
        first, second = of_first[rows] * factors[0], of_second[rows] * factors[1]
        total = np.where(first + second > 0, first + second, 1)
        part = np.where((factors[0] == factors[1]) | (weights[rows] == 0), part, first / total)
        mixed_made = (of_first * made + of_second * made[partners]) / np.where(weights > 0, weights, 1)
        made = np.where(weights > 0, mixed_made, made).astype(np.float32)
    count = len(targets.labels)
    values = np.concatenate([part[:count] * targets.values, (1 - part[count:]) * targets.values[other]])
    width = np.int64(labels.max(initial=0)) + 1
    keys, place = np.unique(rows * width + labels, return_inverse=True)
    sums = np.bincount(place, values, minlength=len(keys)).astype(np.float32)
    positive = sums > 0  # a share of 0 leaves no target
    mixed_rows, mixed_labels = np.divmod(keys[positive], width)
    ignored_starts, ignored = _ignored_by_either(targets, partners)
    return replace(
        targets,
        starts=starts_of(mixed_rows, len(targets)),
        labels=mixed_labels.astype(np.int32),
        values=np.minimum(sums[positive], 1),
        ignored_starts=ignored_starts,
        ignored=ignored,
        weights=weights.astype(np.float32),
        made=made,
    )


def _ignored_by_either(targets: BatchTargets, partners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    other_rows = np.repeat(np.arange(len(partners)), np.diff(targets.ignored_starts)[partners])
    labels = np.concatenate([targets.ignored, targets.ignored[entries_of(targets.ignored_starts, partners)]])
    width = np.int64(labels.max(initial=0)) + 1
    keys = np.unique(np.concatenate([targets.ignored_rows, other_rows]) * width + labels)
    rows, ignored = np.divmod(keys, width)
    return starts_of(rows, len(targets)), ignored.astype(np.int32)
