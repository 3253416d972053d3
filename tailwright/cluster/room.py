"""Whether a cluster has a node with room for a piece of work; Ray would wait for one without a word."""

from __future__ import annotations

import logging

from tailwright.training.memory import MB

log = logging.getLogger(__name__)


def say_if_none_fits(cores: int, memory_mb: float) -> None:
    """Warn if no node is large enough. It is no error: a cluster that grows may start one that is."""
    import ray

    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if any(node.get("CPU", 0) >= cores and node.get("memory", 0) >= memory_mb * MB for node in nodes):
        return
    largest = max((node.get("memory", 0) / MB for node in nodes), default=0)
    most = max((node.get("CPU", 0) for node in nodes), default=0)
    log.warning(
        "waiting for a node with %d cores and %s MB for a piece of work; "
        "those of the cluster have at most %d and %s MB",
        cores,
        f"{memory_mb:,.0f}",
        most,
        f"{largest:,.0f}",
    )
