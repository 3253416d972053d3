"""Runs: a fitted model with its labels, in memory and in a safe folder; how one is trained and measured.

`augment` is here too, as a method may ask a trained classifier about the rows that others made.
"""

from tailwright.runs.augmenting import augment
from tailwright.runs.continuing import continued
from tailwright.runs.ensemble import Ensemble
from tailwright.runs.evaluation import evaluate
from tailwright.runs.predictions import Predictions
from tailwright.runs.run import Run, load
from tailwright.runs.training import train

__all__ = ["Ensemble", "Predictions", "Run", "augment", "continued", "evaluate", "load", "train"]
