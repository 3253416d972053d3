"""What processes that train together need to keep a part of the labels each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tailwright.settings import Settings, setting

if TYPE_CHECKING:  # heavy: a card must be had without them
    import numpy as np
    import torch


@dataclass(frozen=True)
class ShardSettings(Settings):
    """Where the label vectors of a head are."""

    sharded: bool = setting(
        False, "whether processes that train together have a part of the labels each, instead of all"
    )


@dataclass(frozen=True)
class LabelShard:
    """The rows `start` to `end` of a table of `total` rows."""

    start: int
    end: int
    total: int

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def rows(self) -> slice:
        return slice(self.start, self.end)


class Together(Protocol):
    """Processes that compute together: `tailwright.training.team.Team` is one of them."""

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    def gather(self, arrays: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
        """Everybody's arrays, by rank; those at one place differ in their length alone."""
        ...

    def add(self, numbers: torch.Tensor) -> None:
        """Replace the numbers by the sum of everybody's."""
        ...

    def total(self, value: float) -> float:
        """The sum of everybody's value."""
        ...
