"""Labels: propensities, head to tail, co-occurrence."""

from tailwright.labels.cooccurrence import cooccurrence, cooccurrence_blocks
from tailwright.labels.propensity import PROPENSITY_PRESETS, Propensity, inverse_propensity
from tailwright.labels.tail import TailThresholds, head_torso_tail

__all__ = [
    "PROPENSITY_PRESETS",
    "Propensity",
    "TailThresholds",
    "cooccurrence",
    "cooccurrence_blocks",
    "head_torso_tail",
    "inverse_propensity",
]
