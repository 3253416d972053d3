"""Labels: propensities, head to tail, the correlation graph, clusters, vectors."""

from tailwright.labels.annotations import soft_annotations
from tailwright.labels.clustering import balanced_clusters
from tailwright.labels.correlation import GraphSettings, correlation_graph
from tailwright.labels.frequency import (
    PROPENSITY_PRESETS,
    Propensity,
    TailThresholds,
    head_torso_tail,
    inverse_propensity,
)
from tailwright.labels.vectors import pifa

__all__ = [
    "PROPENSITY_PRESETS",
    "GraphSettings",
    "Propensity",
    "TailThresholds",
    "balanced_clusters",
    "correlation_graph",
    "head_torso_tail",
    "inverse_propensity",
    "pifa",
    "soft_annotations",
]
