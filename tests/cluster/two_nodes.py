"""A study on a cluster of two nodes, one of which is killed as it works: `python two_nodes.py PLAN OUT`."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
from loopback_nodes import two_nodes
from toy_study import workers_of

from tailwright.cluster.connection import connected
from tailwright.cluster.studying import RayWorkers
from tailwright.study.plan.plan import read_plan
from tailwright.study.run.runner import prepared, run_study

SECONDS = 120.0


def main(plan: Path, out: Path) -> None:
    with two_nodes() as (nodes, second):
        print(json.dumps(_studied(plan, out, nodes, second)))


def _studied(plan: Path, out: Path, nodes: Any, second: Any) -> dict[str, Any]:
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
    return {"killed": killed, "finished": ran.finished, "failed": ran.failed}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
