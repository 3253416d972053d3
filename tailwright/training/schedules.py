"""How the learning rate changes over the steps of a phase: a factor on the rate that the phase asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

Shape = Literal["constant", "linear", "cosine", "step"]


@dataclass(frozen=True)
class Schedule:
    """A warm-up from zero over the first share of the steps, then one of these shapes down from 1.

    | shape | factor after the warm-up |
    |---|---|
    | constant | 1 |
    | linear | falls to 0 at the last step |
    | cosine | falls to 0 along half a cosine |
    | step | multiplied by `drop` at each of the shares in `milestones` |

    >>> Schedule("linear", warmup=0.1).factor(55, 100)
    0.5
    """

    shape: Shape = "constant"
    warmup: float = 0.0
    milestones: tuple[float, ...] = (0.5, 0.75)
    drop: float = 0.5

    def __post_init__(self) -> None:
        if self.shape not in get_args(Shape):
            raise ValueError(f"shape must be one of {', '.join(get_args(Shape))}, got {self.shape!r}")
        if not 0 <= self.warmup < 1:
            raise ValueError(f"warmup must be in [0, 1), got {self.warmup}")
        if not all(0 < share < 1 for share in self.milestones):
            raise ValueError(f"milestones must be in (0, 1), got {self.milestones}")
        if not 0 < self.drop <= 1:
            raise ValueError(f"drop must be in (0, 1], got {self.drop}")

    def factor(self, step: int, steps: int) -> float:
        """The factor at step 0..steps-1."""
        warm = self.warmup * steps
        if step < warm:
            return (step + 1) / (math.floor(warm) + 1)
        done = (step - warm) / max(steps - warm, 1)
        if self.shape == "linear":
            return 1 - done
        if self.shape == "cosine":
            return 0.5 * (1 + math.cos(math.pi * done))
        if self.shape == "step":
            return self.drop ** sum(step >= share * steps for share in self.milestones)
        return 1.0
