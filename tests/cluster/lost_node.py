"""A prediction on two nodes of which one is killed on the way; prints what was written as JSON.

python lost_node.py RUN ROWS OUT
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from tailwright.training.threads import THREAD_VARIABLES

os.environ |= dict.fromkeys(THREAD_VARIABLES, "1")
os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}

import ray
from ray.cluster_utils import Cluster as Nodes
from troubled_runs import Slow

import tailwright as tw
from tailwright.cluster import predicting
from tailwright.cluster.connection import connected
from tailwright.cluster.predicting import ShardedRequest, predict_shards
from tailwright.runs.predicting import Request
from tailwright.runs.unfinished import partial_of


def main(run_folder: Path, rows: Path, out: Path) -> None:
    predicting.RunFolders = lambda paths: Slow(run_folder, 0.3)  # so that there is something under way
    # A folder of its own: others on this machine must not take it for the cluster to connect to.
    folder = tempfile.mkdtemp(prefix="tw-", dir="/tmp")
    head = {"num_cpus": 1, "include_dashboard": False, "temp_dir": folder}
    nodes = Nodes(initialize_head=True, head_node_args=head)
    second = nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address, log_to_driver=False)
    seen: list[int] = []

    def kill() -> None:
        done = partial_of(out) / "done"
        while len(list(done.glob("*.json"))) < 6:  # both nodes are at work
            time.sleep(0.05)
        seen.append(len(list(done.glob("*.json"))))
        nodes.remove_node(second, allow_graceful=False)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    run = tw.load(run_folder)
    request = Request.of(run, 3, 0.0, None, None, None, None)
    with connected("ray", workers=2) as cluster:
        written = predict_shards(
            run, ShardedRequest((run_folder,), request, rows, out, shard_rows=4), cluster
        )
    print(json.dumps({"digest": written.digest, "done_when_killed": seen[0], "shards": written.shards}))
    ray.shutdown()
    nodes.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
