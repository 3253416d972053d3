"""How large a gradient may be: a fixed norm, or one that follows the norms of the last steps.

The adaptive rule is AttentionXML's. With m the largest of the norms that are remembered, a gradient is scaled
down to `factor` times m, and the smallest of its norm before that, of `growth` times m and of `most` is
remembered. What is remembered first is infinity: nothing is clipped until `remembered` steps have pushed it
out. From then on no gradient is longer than `factor` times `most`.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from tailwright.settings import Settings, setting
from tailwright.training.named_arrays import Arrays


@dataclass(frozen=True)
class AdaptiveClip(Settings):
    """The adaptive rule, with AttentionXML's numbers."""

    factor: float = setting(
        5.0, "of the largest norm remembered: the limit of a gradient", above=0, most=1_000_000
    )
    remembered: int = setting(5, "steps whose norms are remembered", least=1)
    growth: float = setting(2.0, "of the largest norm remembered, the most that a step adds", above=0)
    most: float = setting(1.0, "largest norm that is remembered", above=0)


class Clipper:
    """Applies a rule step by step: a number, the adaptive rule, or None for gradients as they are."""

    def __init__(self, rule: float | AdaptiveClip | None) -> None:
        self.rule = rule
        self.norms: deque[float] = deque(maxlen=rule.remembered if isinstance(rule, AdaptiveClip) else 0)
        self.norms.append(math.inf)

    @property
    def active(self) -> bool:
        return self.rule is not None

    def scale(self, norm: float) -> float:
        """The factor on a gradient of that norm, at most 1; the step is remembered."""
        if self.rule is None:
            return 1.0
        limit = self.rule
        if isinstance(limit, AdaptiveClip):
            largest = max(self.norms)
            self.norms.append(min(norm, limit.growth * largest, limit.most))
            limit = limit.factor * largest
        return min(1.0, limit / max(norm, 1e-12))

    def state(self) -> Arrays:
        """What a checkpoint keeps."""
        return {"norms": np.array(self.norms, dtype=np.float64)}

    def restore(self, state: Arrays) -> None:
        """Take in what `state` gave."""
        self.norms.clear()
        self.norms.extend(state["norms"].tolist())
