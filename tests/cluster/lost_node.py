"""A prediction on two nodes of which one is killed on the way; prints what was written as JSON.

python lost_node.py RUN ROWS OUT
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from loopback_nodes import two_nodes
from troubled_runs import Slow

import tailwright as tw
from tailwright.cluster import predicting
from tailwright.cluster.connection import connected
from tailwright.cluster.predicting import ShardedRequest, predict_shards
from tailwright.runs.predicting import Request
from tailwright.runs.unfinished import partial_of


def main(run_folder: Path, rows: Path, out: Path) -> None:
    predicting.RunFolders = lambda paths: Slow(run_folder, 0.3)  # so that there is something under way
    with two_nodes() as (nodes, second):
        print(json.dumps(_labelled(run_folder, rows, out, nodes, second)))


def _labelled(run_folder: Path, rows: Path, out: Path, nodes: Any, second: Any) -> dict[str, Any]:
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
    return {"digest": written.digest, "done_when_killed": seen[0], "shards": written.shards}


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
