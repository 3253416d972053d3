"""Stops a fit right after one of its checkpoints, for tests of what a resumed fit learns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tailwright.training.workplace import Workplace


class _StopFitError(Exception):
    pass


@contextmanager
def stopped_after(checkpoints: int) -> Iterator[None]:
    """What runs inside is stopped when it has kept so many checkpoints; that it keeps fewer is a failure."""
    checkpoint, done = Workplace.checkpoint, []

    def stopping(self, save, *, now=False):
        checkpoint(self, save, now=now)
        done.append(1)
        if len(done) == checkpoints:
            raise _StopFitError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Workplace, "checkpoint", stopping)
        with pytest.raises(_StopFitError):
            yield
