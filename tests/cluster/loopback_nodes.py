"""A cluster of two nodes of one core each on this machine, which speak on loopback alone."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tailwright.training.threads import THREAD_VARIABLES

# Read when ray is imported: loopback, nothing is told to anybody, workers of ordinary priority.
SETTINGS = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    **dict.fromkeys(THREAD_VARIABLES, "1"),
}


@contextmanager
def two_nodes() -> Iterator[tuple[Any, Any]]:
    """The cluster, which this process is connected to, and its second node."""
    os.environ |= SETTINGS
    import ray
    from ray.cluster_utils import Cluster

    # A folder of its own: others on this machine must not take it for the cluster to connect to.
    folder = tempfile.mkdtemp(prefix="tw-", dir="/tmp")
    head = {"num_cpus": 1, "include_dashboard": False, "temp_dir": folder}
    nodes = Cluster(initialize_head=True, head_node_args=head)
    second = nodes.add_node(num_cpus=1)
    nodes.wait_for_nodes()
    ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
    try:
        assert {node["NodeManagerAddress"] for node in ray.nodes()} == {"127.0.0.1"}
        yield nodes, second
    finally:
        ray.shutdown()
        nodes.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
