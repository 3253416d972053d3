"""A study on a cluster of two nodes, one of which is killed as it works: `python two_nodes.py PLAN OUT`."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

import psutil
from toy_study import workers_of

from tailwright.cluster.connection import connected
from tailwright.cluster.studying import RayWorkers
from tailwright.study.plan.plan import read_plan
from tailwright.study.run.runner import prepared, run_study

SECONDS = 120.0


def main(plan: Path, out: Path) -> None:
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 (Ray's name for it)
    import ray
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
    raylet = next(info[0].process.pid for name, info in second.all_processes.items() if name == "raylet")
    killed: list[int] = []

    def kill() -> None:
        """Kill the second node as soon as one of its processes works on a cell."""
        end = time.monotonic() + SECONDS
        while not killed and time.monotonic() < end:
            for cell in workers_of(out):
                if raylet in {parent.pid for parent in psutil.Process(cell).parents()}:
                    killed.append(cell)
                    nodes.remove_node(second, allow_graceful=False)
                    return
            time.sleep(0.05)

    killer = threading.Thread(target=kill)
    killer.start()
    with connected("ray", workers=2, threads=1) as cluster:
        ran = run_study(prepared(read_plan(plan), out), workers=RayWorkers(cluster, out), shown=False)
    killer.join()
    print(json.dumps({"killed": killed, "finished": ran.finished, "failed": ran.failed}))
    ray.shutdown()
    nodes.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
