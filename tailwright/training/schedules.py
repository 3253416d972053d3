"""How the learning rate changes over the steps of a phase: a factor on the rate that the phase asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tailwright.settings import Settings, setting

Shape = Literal["constant", "linear", "cosine", "step"]


@dataclass(frozen=True)
class Schedule(Settings):
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

    shape: Shape = setting("constant", "shape after the warm-up")
    warmup: float = setting(0.0, "share of the steps over which the factor rises", least=0, below=1)
    milestones: tuple[float, ...] = setting(
        (0.5, 0.75), "shares of the steps where it drops", above=0, below=1
    )
    drop: float = setting(0.5, "factor at each milestone", above=0, most=1)

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
