"""Whether a training had stopped learning when it ended, by its log: a comparison of models asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

FEWEST = 3  # validations below which a curve says nothing
LAST = 0.2  # the share of the validations that is its end, two of them at least
POINTS = 1.0  # that the end of a curve may still gain


def stopped_learning(log: Sequence[Mapping[str, Any]]) -> bool | None:
    """True if the last phase with a curve on validation rows was stopped early or ends flat; None: no curve.

    An end is flat if the last fifth of the validations, two at least, is no more than a point above the best
    before it. Fewer than three validations say nothing.

    >>> log = [{"event": "epoch", "phase": "a", "epoch": i, "valid": q} for i, q in enumerate([40, 60, 61])]
    >>> stopped_learning(log), stopped_learning(log[:2])
    (False, None)
    """
    judged = [event for event in log if event.get("event") in {"epoch", "validation"} and "valid" in event]
    if not judged:
        return None
    phase = judged[-1]["phase"]
    # A resumed training may log an epoch twice.
    curve = {
        (event["epoch"], event.get("step", 0)): event["valid"] for event in judged if event["phase"] == phase
    }
    planned = [event["epochs"] for event in log if event.get("phase") == phase and "epochs" in event]
    if planned and max(epoch for epoch, _ in curve) < planned[-1]:
        return True
    if len(curve) < FEWEST:
        return None
    values = [curve[place] for place in sorted(curve)]
    end = max(2, round(LAST * len(values)))
    return bool(max(values[-end:]) <= max(values[:-end]) + POINTS)
