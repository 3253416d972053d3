"""The hidden door: augmentations that mix activations inside the forward pass, and where they may do so.

For every batch each of them says which forward passes are made of it: plain ones, and ones with a `Mixing` at
one of the network's mix points (`tailwright.encoders.mixing`). The loss of the batch is the mean over all
passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from tailwright.data.batch_targets import BatchTargets
from tailwright.encoders.mixing import Mixing


class HiddenMix(Protocol):
    """What a hidden-door augmentation does with every batch.

    It draws from `random` alone. A None is a plain pass; no pass at all leaves the batch to the other mixes,
    or to one plain pass.
    """

    def __call__(
        self, targets: BatchTargets, *, epoch: int, random: np.random.Generator
    ) -> Sequence[Mixing | None]: ...


class Stretch(NamedTuple):
    """Epochs of a training in which the same mixes are at work."""

    begin: int
    end: int
    mixes: tuple[HiddenMix, ...]

    @property
    def name(self) -> str:
        """Behind the name of the phase; empty for the first stretch."""
        return f"/from-{self.begin}" if self.begin else ""


def stretches(
    mixes: Sequence[tuple[int, HiddenMix]], epochs: int, restart: int | None = None
) -> list[Stretch]:
    """A training of so many epochs, cut where mixes begin: each comes with the epoch at which it does.

    `restart` is a further cut.
    """
    bounds = sorted({0, *(start for start, _ in mixes), restart or 0})
    return [
        Stretch(begin, end, tuple(mix for start, mix in mixes if start <= begin))
        for begin, end in pairwise([*bounds, epochs])
    ]


class HiddenDoor:
    """The mixes of one phase of training."""

    def __init__(self, mixes: Sequence[HiddenMix] = ()) -> None:
        self.mixes = tuple(mixes)

    def passes(
        self, targets: BatchTargets, *, epoch: int, random: np.random.Generator
    ) -> Sequence[Mixing | None]:
        """The forward passes of a batch; `random` is the batch's stream, which is left as it is."""
        if not self.mixes:
            return (None,)
        # A stream far behind what the batch itself draws, so that a mix disturbs no dropout mask.
        own = np.random.Generator(random.bit_generator.jumped())  # type: ignore[attr-defined]
        passes = [one for mix in self.mixes for one in mix(targets, epoch=epoch, random=own)]
        return passes or (None,)
