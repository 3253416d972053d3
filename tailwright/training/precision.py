"""Mixed precision: products in half precision on CUDA, with a scaled loss so that small gradients survive.

Weights, moments and the sums of losses stay in single precision. On a CPU nothing is changed: there are CPUs
on which products of half precision are slower, and some on which they crash.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import numpy as np

from tailwright.training.named_arrays import Arrays

Precision = Literal["full", "mixed"]

LARGEST = 2.0**16
PATIENCE = 2000  # steps without overflow before the scale is doubled


class LossScale:
    """The factor on the loss of a phase: halved when a gradient overflows, doubled when none did for long."""

    def __init__(self, *, active: bool) -> None:
        self.active = active
        self.value = LARGEST if active else 1.0
        self.good = 0

    def context(self) -> AbstractContextManager[object]:
        """Within it a loss is computed."""
        if not self.active:
            return nullcontext()
        import torch

        return torch.autocast("cuda", dtype=torch.float16)

    def update(self, *, finite: bool) -> None:
        """Take note of a step: whether all gradients were finite."""
        if not self.active:
            return
        self.good = self.good + 1 if finite else 0
        if not finite:
            self.value /= 2
        elif self.good % PATIENCE == 0:
            self.value = min(2 * self.value, LARGEST)

    def state(self) -> Arrays:
        """What a checkpoint keeps."""
        return {"value": np.array([self.value]), "good": np.array([self.good])}

    def restore(self, state: Arrays) -> None:
        """Take in what `state` gave."""
        self.value, self.good = float(state["value"][0]), int(state["good"][0])
