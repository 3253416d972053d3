"""Labels: propensities, head to tail, the correlation graph, clusters, vectors.

Names are loaded when they are first used: a run that answers needs none of the graph's kernels.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME_OF = {
    "PROPENSITY_PRESETS": "frequency",
    "GraphSettings": "correlation",
    "Propensity": "frequency",
    "TailThresholds": "frequency",
    "balanced_clusters": "clustering",
    "correlation_graph": "correlation",
    "head_torso_tail": "frequency",
    "inverse_propensity": "frequency",
    "pifa": "vectors",
    "soft_annotations": "annotations",
}

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

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'tailwright.labels' has no attribute {name!r}")
    return getattr(importlib.import_module(f"tailwright.labels.{_HOME_OF[name]}"), name)
