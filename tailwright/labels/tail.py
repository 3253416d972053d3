"""Head, torso, tail and unseen: slices of the labels by their number of training rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailwright.settings import Settings, setting


@dataclass(frozen=True)
class TailThresholds(Settings):
    """unseen: 0 rows; tail: 1..`tail`; torso: above `tail`, up to `head`; head: above `head`."""

    tail: int = setting(5, "most training rows of a tail label", least=1)
    head: int = setting(50, "most training rows of a torso label", least=1)

    def check(self) -> None:
        if self.head < self.tail:
            raise ValueError(f"head must be >= tail ({self.tail}), got {self.head}")

    def slices(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """A bool mask over the labels for each slice; every label is in exactly one."""
        counts = np.asarray(counts)
        if counts.ndim != 1 or counts.dtype.kind not in "iu":
            raise ValueError(f"counts must be integers (labels,), got {counts.dtype} {counts.shape}")
        if len(counts) and counts.min() < 0:
            raise ValueError(f"counts must be >= 0, got {counts.min()}")
        return {
            "head": counts > self.head,
            "torso": (counts > self.tail) & (counts <= self.head),
            "tail": (counts >= 1) & (counts <= self.tail),
            "unseen": counts == 0,
        }


def head_torso_tail(counts: np.ndarray, tail: int = 5, head: int = 50) -> dict[str, np.ndarray]:
    """The slices of the labels by training `counts`, for `sliced_metrics`.

    >>> [name for name, mask in head_torso_tail(np.array([0, 5, 6, 51])).items() if mask[1]]
    ['tail']
    """
    return TailThresholds(tail, head).slices(counts)
