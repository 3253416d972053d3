"""Checks that every model and every augmenter must pass the day it is registered: the contract in code.

>>> from tailwright.checks import check_augmenter, check_model
>>> check_model("popularity")
"""

from tailwright.checks.augmenters import check_augmenter
from tailwright.checks.models import check_model

__all__ = ["check_augmenter", "check_model"]
