"""Runs: a fitted model with its labels, in memory and in a safe folder; how one is trained and measured.

`augment` is here too, as a method may ask a trained classifier about the rows that others made. Names are
loaded when they are first used: a run is loaded without what reads corpora and trains.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME_OF = {
    "Ensemble": "ensemble",
    "Predictions": "predictions",
    "Run": "run",
    "augment": "augmenting",
    "continued": "continuing",
    "evaluate": "evaluation",
    "load": "run",
    "train": "training",
}

__all__ = ["Ensemble", "Predictions", "Run", "augment", "continued", "evaluate", "load", "train"]

if TYPE_CHECKING:
    from tailwright.runs.augmenting import augment
    from tailwright.runs.continuing import continued
    from tailwright.runs.ensemble import Ensemble
    from tailwright.runs.evaluation import evaluate
    from tailwright.runs.predictions import Predictions
    from tailwright.runs.run import Run, load
    from tailwright.runs.training import train


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'tailwright.runs' has no attribute {name!r}")
    return getattr(importlib.import_module(f"tailwright.runs.{_HOME_OF[name]}"), name)
